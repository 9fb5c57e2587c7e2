// Scorers that want the queries of many tokens at once, when all keys of these tokens are there:
// queries wait in scratch until their block is whole.
#include <algorithm>

#include "kvcache/prefill/prefill_state.h"

namespace satchel::kvcache {

// A chunk may end one block and begin the next.
Result<void> Prefill::State::hold(const Seen& seen) {
  const LayerShape& shape = cache.layout.shape.layers[scratch.layer];
  const std::size_t q_row = shape.n_heads * shape.head_dim * sizeof(float);
  const std::size_t lse_row = shape.n_heads * sizeof(float);
  const std::size_t begin = n_read - n_chunk;
  const auto* q = reinterpret_cast<const std::byte*>(seen.q);
  const auto* lse = reinterpret_cast<const std::byte*>(seen.lse);
  for (std::size_t first = begin; first < n_read;) {
    const std::size_t in_block = first % plan.n_block;
    const std::size_t n = std::min(n_read - first, plan.n_block - in_block);
    SATCHEL_TRY(cache.backend.copy(scratch.at(plan.block_q_at) + in_block * q_row,
                                   q + (first - begin) * q_row, n * q_row));
    SATCHEL_TRY(cache.backend.copy(scratch.at(plan.block_lse_at) + in_block * lse_row,
                                   lse + (first - begin) * lse_row, n * lse_row));
    first += n;
    const bool is_whole = in_block + n == plan.n_block || first == plan.n_tokens();
    if (is_whole) SATCHEL_TRY(observe_block(first - in_block - n, in_block + n));
  }
  return {};
}

// The span's tokens first … first + n - 1.
Result<void> Prefill::State::observe_block(std::size_t first, std::size_t n) {
  const LayerShape& shape = cache.layout.shape.layers[scratch.layer];
  std::vector<ObservedLane> lanes = observed_lanes();
  std::vector<kernels::ExactRun> keys(lanes.size());  // observed_lanes() shows all of the span
  std::vector<std::array<kernels::ExactRun, 2>> sinks(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const std::size_t head = lanes[i].first_head / shape.n_group();
    const kernels::ExactRun all = scratch.fresh(head).run(n_read);
    const std::size_t skip = first * shape.head_dim;
    keys[i] = {
        .k = all.k + skip, .v = all.v + skip, .positions = all.positions + first, .n_tokens = n};
    lanes[i].keys = {.runs = {&keys[i], 1}, .pages = {}};
    lanes[i].scores += first;
    // Some may be of the text before, the others of this text's first block.
    const Lane& lane = cache.lanes[scratch.lane_index(head)];
    const std::size_t n_held = lane.n_sinks(), n_fresh = std::min(first, kSinkTokens - n_held);
    std::size_t n_parts = 0;
    if (n_held > 0) sinks[i][n_parts++] = lane.seen_sinks();
    if (n_fresh > 0) sinks[i][n_parts++] = scratch.fresh(head).run(n_fresh);
    lanes[i].sinks = std::span(sinks[i]).first(n_parts);
  }
  auto* q = reinterpret_cast<float*>(scratch.at(plan.block_q_at));
  auto* lse = reinterpret_cast<float*>(scratch.at(plan.block_lse_at));
  return cache.layout.pipeline.scorer().observe(
      cache.backend,
      {.purpose = Purpose::prefill,
       .layer = shape,
       .batch = scratch.batch(first, n),
       .positions = std::span(scratch.positions).subspan(first, n),
       .q = q,
       .lse = lse,
       .span_first = plan.first_position,
       .span_end = plan.first_position + plan.n_tokens(),
       .keep = cache.layout.pipeline.keep(),
       .state = scratch.state(),
       .block_q = q,
       .block_lse = lse,
       .work = lse + plan.n_block * shape.n_heads},
      lanes);
}

}  // namespace satchel::kvcache
