#include "kvcache/stages/row_weights.h"

#include <algorithm>

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

std::size_t n_in_window(const Observation& seen, std::size_t window) {
  const std::size_t first = seen.span_end - std::min(seen.span_end, window);
  return static_cast<std::size_t>(std::count_if(
      seen.positions.begin(), seen.positions.end(),
      [first](std::int32_t position) { return static_cast<std::size_t>(position) >= first; }));
}

}  // namespace satchel::kvcache
