// The Llama graph, one step at a time: RMSNorm, rotated queries and keys, grouped-query attention,
// gated SiLU. It knows no cache: who reads, decodes or replays gives it the lanes.
//   x       hidden states [n, width] fp32 in the backend's memory, changed in place
//   source  arXiv:2302.13971 section 2.2; arXiv:2104.09864 (RoPE); arXiv:2305.13245 (GQA)
#pragma once

#include <cstdint>
#include <span>

#include "kernels/contract/backend.h"
#include "runtime/model/config.h"
#include "runtime/model/scratch.h"
#include "runtime/model/weights.h"

namespace satchel::runtime {

class LlamaGraph {
 public:
  enum class Project { queries, queries_keys_values };
  LlamaGraph(kernels::Backend& backend, const ModelConfig& config, const Weights& weights)
      : backend_(backend), config_(config), weights_(weights) {}

  Result<void> embed(std::span<const std::int32_t> ids, float* x) const;
  // work.q (, work.k, work.v) of x, rotated to `positions`, one for each token.
  Result<void> project(std::size_t layer, const float* x, std::span<const std::int32_t> positions,
                       Project what, const Workspace& work) const;
  // work.attended (and work.lse, if wanted) = attention of work.q over `lanes`.
  Result<void> attend(std::span<const kernels::LaneView> lanes,
                      std::span<const std::int32_t> positions, bool wants_lse,
                      const Workspace& work) const;
  // x += attention_out · attended, then x += FFN(x).
  Result<void> finish(std::size_t layer, float* x, std::size_t n_tokens,
                      const Workspace& work) const;
  // out [n, width]: what logits() takes.
  Result<void> final_norm(const float* x, std::size_t n_tokens, float* out) const;
  // out [n, n_vocabulary]
  Result<void> logits(const float* normed, std::size_t n_tokens, float* out) const;

 private:
  kernels::Backend& backend_;
  const ModelConfig& config_;
  const Weights& weights_;
};

}  // namespace satchel::runtime
