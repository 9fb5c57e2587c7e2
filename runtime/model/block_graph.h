// BlockGraph: the graph of all architectures whose layers are attention, then a gated feed-forward
// or experts, each with a way around it. What differs between them is a BlockStyle, and numbers in
// ModelConfig.
#pragma once

#include <vector>

#include "runtime/model/graph.h"
#include "runtime/model/parts/attention_part.h"
#include "runtime/model/parts/feed_forward_part.h"

namespace satchel::runtime {

class BlockGraph final : public Graph {
 public:
  BlockGraph(kernels::Backend& backend, const ModelConfig& config, const BlockStyle& style);

  std::vector<TensorSpec> tensors() override;
  Result<void> project(const LayerStep& step, Project what, const float* x) override;
  Result<void> finish(const LayerStep& step, float* x) override;

 private:
  struct Layer {
    AttentionPart attention;
    FeedForwardPart feed_forward;
  };
  BlockStyle style_;
  std::vector<Layer> layers_;
  std::vector<kernels::Backend::Ranked> chosen_;  // lent to one step at a time
};

// Architecture::graph of the style.
template <BlockStyle kStyle>
std::unique_ptr<Graph> make_block_graph(kernels::Backend& backend, const ModelConfig& config) {
  return std::make_unique<BlockGraph>(backend, config, kStyle);
}

}  // namespace satchel::runtime
