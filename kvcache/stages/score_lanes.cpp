#include <algorithm>
#include <array>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kAtOnce = 16;  // on the stack: decode steps come here too

// A lane's heads of the observation's queries, which see its keys as `sees` says.
kernels::LaneQueries queries_of(const Observation& seen, const ObservedLane& lane,
                                kernels::AttentionMask mask) {
  return {.q = seen.q,
          .batch = seen.batch,
          .n_heads = seen.layer.n_heads,
          .head_dim = seen.layer.head_dim,
          .first_head = lane.first_head,
          .n_group = lane.n_group,
          .keys = lane.keys,
          .scale = seen.layer.attention_scale,
          .soft_cap = seen.layer.soft_cap,
          .window = seen.layer.window,
          .mask = mask,
          .rope = seen.layer.rope()};
}

// All queries of a block by its length: as heads of one token.
Result<void> rotate_ahead(kernels::Backend& backend, const Observation& seen) {
  const LayerShape& layer = seen.layer;
  const std::size_t n_rotated = layer.n_rotated();
  SATCHEL_ASSERT(n_rotated + 1 <= kBlockWork);
  const std::array by = {static_cast<std::int32_t>(seen.batch.n_tokens)};
  auto* position = reinterpret_cast<std::int32_t*>(seen.work + n_rotated);
  SATCHEL_TRY(upload(backend, position, by));
  SATCHEL_TRY(backend.make_rotation(
      {.positions = position, .n_tokens = 1, .position_min = by[0], .position_max = by[0]},
      layer.rope(), seen.work));
  return backend.rope({.q = seen.block_q,
                       .n_tokens = 1,
                       .n_heads = seen.batch.n_tokens * layer.n_heads,
                       .head_dim = layer.head_dim,
                       .rotation = seen.work,
                       .n_rotated = n_rotated,
                       .pairs = layer.rope_pairs});
}

}  // namespace

Result<void> echo_lanes(kernels::Backend& backend, const Observation& seen,
                        std::span<const ObservedLane> lanes, kernels::AttentionMask mask) {
  SATCHEL_TRY(rotate_ahead(backend, seen));
  kernels::ScoreArgs args;
  args.lane.mask = mask;
  args.queries = kernels::ScoreArgs::Queries::max;
  args.heads = kernels::ScoreArgs::Heads::max;
  SATCHEL_TRY(logsumexp_lanes(backend, seen, lanes, mask));
  return score_lanes(backend, seen, lanes, args);
}

Result<void> key_importance_lanes(kernels::Backend& backend, const Observation& seen,
                                  std::span<const ObservedLane> lanes) {
  const std::size_t d = seen.layer.head_dim;
  const auto first = static_cast<std::size_t>(seen.positions.front()) - seen.span_first;
  std::vector<kernels::KeyImportanceArgs> items;
  for (const ObservedLane& lane : lanes)
    items.push_back({.k = seen.pre_rope_k + lane.first_head / lane.n_group * d,
                     .n_tokens = seen.batch.n_tokens,
                     .head_dim = d,
                     .stride = seen.layer.n_kv_heads * d,
                     .weights = lane.importance,
                     .scores = lane.scores + first});
  return backend.key_importance(items);
}

Result<void> score_lanes(kernels::Backend& backend, const Observation& seen,
                         std::span<const ObservedLane> lanes, const kernels::ScoreArgs& args) {
  if (lanes.size() > kAtOnce) {
    SATCHEL_TRY(score_lanes(backend, seen, lanes.first(kAtOnce), args));
    return score_lanes(backend, seen, lanes.subspan(kAtOnce), args);
  }
  std::array<kernels::ScoreArgs, kAtOnce> items;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    items[i] = args;
    items[i].lane = queries_of(seen, lanes[i], args.lane.mask);
    items[i].lse = seen.lse;
    items[i].scores = lanes[i].scores;
  }
  return backend.score(std::span(items).first(lanes.size()));
}

Result<void> logsumexp_lanes(kernels::Backend& backend, const Observation& seen,
                             std::span<const ObservedLane> lanes, kernels::AttentionMask mask) {
  std::vector<std::array<kernels::ExactRun, 3>> runs;
  runs.reserve(lanes.size());  // items point into it
  std::vector<kernels::LogSumExpArgs> items;
  for (const ObservedLane& lane : lanes) {
    kernels::LogSumExpArgs& item = items.emplace_back();
    item.lane = queries_of(seen, lane, mask);
    item.lse = seen.block_lse;
    if (mask != kernels::AttentionMask::full || lane.sinks.empty()) continue;
    auto& seen_runs = runs.emplace_back();
    SATCHEL_ASSERT(lane.sinks.size() < seen_runs.size() && lane.keys.runs.size() == 1);
    std::copy(lane.sinks.begin(), lane.sinks.end(), seen_runs.begin());
    seen_runs[lane.sinks.size()] = lane.keys.runs[0];
    item.lane.keys.runs = std::span(seen_runs).first(lane.sinks.size() + 1);
  }
  return backend.logsumexp(items);
}

Observation rows_of(const Observation& seen, std::size_t first, std::size_t n_rows) {
  SATCHEL_ASSERT(n_rows > 0 && first + n_rows <= seen.batch.n_tokens);
  const LayerShape& layer = seen.layer;
  const std::size_t row = layer.n_heads * layer.head_dim;
  Observation rows = seen;
  rows.positions = seen.positions.subspan(first, n_rows);
  rows.batch = {.positions = seen.batch.positions + first,
                .n_tokens = n_rows,
                .position_min = rows.positions.front(),
                .position_max = rows.positions.back()};
  rows.q = seen.q + first * row;
  rows.lse = seen.lse + first * layer.n_heads;
  if (seen.pre_rope_q != nullptr) rows.pre_rope_q = seen.pre_rope_q + first * row;
  if (seen.pre_rope_k != nullptr)
    rows.pre_rope_k = seen.pre_rope_k + first * layer.n_kv_heads * layer.head_dim;
  rows.hidden = nullptr;  // its width is not known here
  rows.chunk = {};        // of whole chunks only
  return rows;
}

Observation last_rows(const Observation& seen, std::size_t n_rows) {
  SATCHEL_ASSERT(n_rows <= seen.batch.n_tokens);
  return rows_of(seen, seen.batch.n_tokens - n_rows, n_rows);
}

}  // namespace satchel::kvcache
