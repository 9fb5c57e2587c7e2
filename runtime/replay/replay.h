// Replay: a chat's own tokens run again over its compressed cache, to measure what compression
// cost.
//   rows     hidden states [n, width] in the backend's memory, as Model::read_prompt and
//            Model::replay keep them
//   memory   scratch of the arena, and one or two rows of logits in main memory
//   errors   those of Model::replay
//   threads  as the Model's
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "runtime/fidelity/fidelity.h"
#include "runtime/model/model.h"

namespace satchel::runtime {

// The rows of pass.ids in scratch of the cache's arena; pass.rows is ignored.
Result<kvcache::Arena::Lease> replay_rows(Model& model, ReplayPass pass);

// Shows the logits [n_vocabulary] after each row; main memory, lent to the call.
using SeeLogits = std::function<void(std::size_t row, std::span<const float> logits)>;
Result<void> each_logits(Model& model, kvcache::Arena& arena, const float* rows,
                         std::size_t n_tokens, const SeeLogits& see);
// The most likely token after each row; ties to the lower id.
Result<std::vector<std::int32_t>> top_tokens(Model& model, kvcache::Arena& arena, const float* rows,
                                             std::size_t n_tokens);

// The model's predictions after each token, from the rows of both passes.
struct RowPair {
  // Called after scratch was leased, which may move the rows.
  const std::function<const float*()>& exact;
  const float* compressed = nullptr;
  std::size_t n_tokens = 0;
};
Result<Fidelity> compare_rows(Model& model, kvcache::Arena& arena, const RowPair& rows);

struct AttentionPass {
  kvcache::Cache& cache;
  std::size_t end = 0;       // position behind the last of the tokens that were sampled
  std::size_t n_tokens = 0;  // as AttentionSamples was laid out
  // As read_prompt or replay filled them; called after scratch was leased, which may move them.
  const std::function<AttentionSamples()>& exact;
  std::stop_token stop;
};
// What share of the attention of the sampled tokens falls on what the cache holds now, as
// attention_left(); the mean over all heads of all layers. Nothing is appended.
Result<double> attention_kept(Model& model, const AttentionPass& pass);

}  // namespace satchel::runtime
