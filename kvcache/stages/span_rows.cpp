#include "kvcache/stages/span_rows.h"

#include <algorithm>
#include <vector>

#include "kvcache/shape/rope_pairs.h"

namespace satchel::kvcache {

Result<void> each_row(kernels::Backend& backend, const Rows& rows, const TakesRow& take) {
  constexpr std::size_t kAtOnce = 256;
  const std::size_t d = rows.head_dim;
  std::vector<Half> halves(std::min(rows.n, kAtOnce) * d);
  std::vector<float> row(d);
  for (std::size_t begin = 0; begin < rows.n; begin += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, rows.n - begin);
    const auto piece = std::span(halves).first(n * d);
    SATCHEL_TRY(download(backend, piece, rows.first + begin * d));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t c = 0; c < d; ++c) row[c] = half_to_float(piece[i * d + c]);
      take(begin + i, row);
    }
  }
  return {};
}

double squared_length(std::span<const float> row) {
  double squares = 0;
  for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
  return squares;
}

float* state_row(const Observation& seen, const ObservedLane& lane) {
  return seen.state + lane.first_head / lane.n_group * (seen.span_end - seen.span_first);
}

void SpanLane::unrotate(std::size_t t, std::span<float> key) const {
  rope_pairs(seen.layer, -static_cast<double>(seen.span_first + t), key);
}

std::size_t SpanLane::n_first(std::size_t sinks) const {
  return std::min(k.n, sinks - std::min(sinks, seen.span_first));
}

Result<void> score_spans(kernels::Backend& backend, const Observation& seen,
                         std::span<const ObservedLane> lanes, const ScoresSpan& score) {
  SATCHEL_ASSERT(seen.purpose == Purpose::prefill && seen.block_q == nullptr);
  if (static_cast<std::size_t>(seen.positions.back()) + 1 != seen.span_end) return {};
  const std::size_t n = seen.span_end - seen.span_first, d = seen.layer.head_dim;
  std::vector<float> scores(n);
  for (const ObservedLane& lane : lanes) {
    SATCHEL_ASSERT(lane.keys.runs.size() == 1 && lane.keys.runs[0].n_tokens == n);
    const kernels::ExactRun& run = lane.keys.runs[0];
    std::fill(scores.begin(), scores.end(), 0.0f);
    SATCHEL_TRY(
        score({.seen = seen, .lane = lane, .k = {run.k, n, d}, .v = {run.v, n, d}}, scores));
    SATCHEL_TRY(upload(backend, lane.scores, scores));
  }
  return {};
}

}  // namespace satchel::kvcache
