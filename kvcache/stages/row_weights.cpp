#include "kvcache/stages/row_weights.h"

#include <algorithm>

namespace satchel::kvcache {

Result<void> score_weighted(kernels::Backend& backend, const Observation& seen,
                            std::span<const ObservedLane> lanes, std::span<const float> weights) {
  SATCHEL_ASSERT(weights.size() == seen.batch.n_tokens);
  kernels::ScoreArgs args;
  args.weights = seen.state;
  for (std::size_t first = 0; first < weights.size(); first += kWeightRows) {
    const std::size_t n = std::min(weights.size() - first, kWeightRows);
    SATCHEL_TRY(upload(backend, seen.state, weights.subspan(first, n)));
    SATCHEL_TRY(score_lanes(backend, rows_of(seen, first, n), lanes, args));
  }
  return {};
}

std::size_t n_in_window(const Observation& seen, std::size_t window) {
  const std::size_t first = seen.span_end - std::min(seen.span_end, window);
  return static_cast<std::size_t>(std::count_if(
      seen.positions.begin(), seen.positions.end(),
      [first](std::int32_t position) { return static_cast<std::size_t>(position) >= first; }));
}

}  // namespace satchel::kvcache
