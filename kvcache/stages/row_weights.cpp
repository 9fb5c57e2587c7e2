#include "kvcache/stages/row_weights.h"

namespace satchel::kvcache {

Result<void> score_weighted(kernels::Backend& backend, const Observation& seen,
                            std::span<const ObservedLane> lanes, std::span<const float> weights) {
  SATCHEL_ASSERT(weights.size() == seen.batch.n_tokens);
  SATCHEL_TRY_ASSIGN(kernels::Buffer buffer, backend.allocate(weights.size_bytes()));
  SATCHEL_TRY(backend.upload(buffer.data(), std::as_bytes(weights)));
  kernels::ScoreArgs args;
  args.weights = reinterpret_cast<const float*>(buffer.data());
  return score_lanes(backend, seen, lanes, args);
}

}  // namespace satchel::kvcache
