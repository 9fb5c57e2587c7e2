// BlockGraph: the graph of all architectures whose layers are attention (latent or not), a gated
// short convolution, Gated DeltaNet or Mamba-2, then a feed-forward or experts, each with a way
// around it; a third part gives layers something of each token anew (Gemma 4). What differs between
// them is a BlockStyle, and numbers in ModelConfig.
#pragma once

#include <vector>

#include "runtime/model/graph.h"
#include "runtime/model/parts/attention_part.h"
#include "runtime/model/parts/feed_forward_part.h"
#include "runtime/model/parts/gated_delta_part.h"
#include "runtime/model/parts/latent_part.h"
#include "runtime/model/parts/mamba2_part.h"
#include "runtime/model/parts/per_layer_part.h"
#include "runtime/model/parts/short_conv_part.h"

namespace satchel::runtime {

class BlockGraph final : public Graph {
 public:
  BlockGraph(kernels::Backend& backend, const ModelConfig& config, const BlockStyle& style);

  std::vector<TensorSpec> tensors() override;
  Result<void> project(const LayerStep& step, Project what, const float* x) override;
  Result<void> finish(const LayerStep& step, float* x) override;
  Result<void> recur(const LayerStep& step, std::span<const kernels::StateSequence> sequences,
                     float* x) override;

 protected:
  std::string_view output_norm() const override {
    return style_.last_norm_is_token_embd_norm ? "token_embd_norm.weight" : Graph::output_norm();
  }

 private:
  void spec_of_draft_layers(std::vector<TensorSpec>& specs) const;
  // Behind attention or what stands in its place.
  Result<void> finish_layer(const LayerStep& step, float* x);

  struct Layer {
    AttentionPart attention;    // but for recurrent layers …
    LatentPart latent;          // … and where it is latent
    ShortConvPart convolution;  // of these
    GatedDeltaPart delta;       // likewise: one of the three
    Mamba2Part mamba;           // likewise
    FeedForwardPart feed_forward;
    PerLayerPart per_layer;  // used where the config has a width for it
  };
  BlockStyle style_;
  std::vector<Layer> layers_;
  PerLayerTables per_layer_tables_;
  // Lent to one step at a time.
  ExpertChoice choice_;
  std::vector<std::int32_t> rows_;
};

// Architecture::graph of the style.
template <BlockStyle kStyle>
std::unique_ptr<Graph> make_block_graph(kernels::Backend& backend, const ModelConfig& config) {
  return std::make_unique<BlockGraph>(backend, config, kStyle);
}

}  // namespace satchel::runtime
