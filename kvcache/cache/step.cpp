// Decode steps: one token joins every lane; every kFlushTokens steps the tails are flushed.
#include <algorithm>
#include <limits>

#include "kvcache/cache/cache.h"
#include "kvcache/compaction/flush.h"
#include "kvcache/state/cache_state.h"
#include "kvcache/state/score_slots.h"

namespace satchel::kvcache {
namespace {

// What observe_lane() borrows for one lane at a time.
std::size_t observe_bytes(const CacheState& cache) {
  std::size_t n_slots = 0;
  for (const Lane& lane : cache.lanes) n_slots = std::max(n_slots, lane.n_slots());
  return Arena::rounded_up((n_slots + 1) * sizeof(float));
}

// Slots to positions: the score store knows tokens by where they stand in the text.
Result<void> observe_lane(CacheState& s, const Observation& seen, std::size_t index,
                          std::size_t head, bool replaces) {
  const Lane& lane = s.lanes[index];
  SATCHEL_TRY(score_slots(s, seen.layer, head, index, [&](const ObservedLane& observed) {
    return s.layout.pipeline.scorer().observe(s.backend, seen, {&observed, 1});
  }));
  std::vector<float>& by_position = s.step.by_position;
  by_position.assign(s.text.n_tokens + 1, 0.0f);
  if (!replaces) SATCHEL_TRY(s.scores.read(index, 0, by_position));
  SATCHEL_TRY(add_by_position(s, lane, by_position));
  return s.scores.write(index, 0, by_position);
}

}  // namespace

Result<void> Cache::begin_step(std::size_t n_tokens) {
  CacheState& s = *state_;
  SATCHEL_ASSERT(s.prefill == nullptr && n_tokens > 0);
  s.undo_open_step();
  SATCHEL_TRY(s.show_all_if_stale());
  SATCHEL_TRY(flush_if_due(s));
  SATCHEL_ASSERT(n_tokens == 1 || n_tokens <= step_room());
  if (s.text.n_tokens + n_tokens > std::numeric_limits<std::int32_t>::max())
    return Error{ErrorKind::invalid, "CACHE_POSITION", "No position is left for another token."};
  SATCHEL_TRY(s.arena.check_free(step_needs(n_tokens) + s.fetch_bytes()));
  if (s.requirements().decoding) SATCHEL_TRY(s.scores.ensure(0, s.text.n_tokens + 1));
  SATCHEL_TRY(s.show_all_if_stale());
  SATCHEL_TRY(s.states.begin());
  s.step_tokens = n_tokens;
  s.step_open = true;
  s.draft.choosing = s.draft.n_pages > 0;
  return {};
}

// Up to the next flush, and to where the newest tokens begin another page's worth: a longer list of
// what attention reads could be divided in another way, and its sums be others.
std::size_t Cache::step_room() const {
  const CacheState& s = *state_;
  if (s.text.n_tokens < kSinkTokens || s.since_flush >= kFlushTokens) return 1;
  if (!s.layout.pipeline.reader().reads_all() || s.states.n_layers() > 0) return 1;
  if (s.requirements().decoding && !s.requirements().newest_step) return 1;
  std::size_t room = kFlushTokens - s.since_flush;
  if (s.requirements().decoding) --room;  // the step before a flush is observed
  for (const Lane& lane : s.lanes)
    room = std::min(room, kernels::kPageTokens - lane.n_tail() % kernels::kPageTokens);
  return std::max<std::size_t>(room, 1);
}

// The step that fills the tails needs memory for their pages, at the coarsest. A flush that is due
// and failed needs the same.
std::size_t Cache::step_needs(std::size_t n_tokens) const {
  const CacheState& s = *state_;
  std::size_t bytes = 0;
  if (s.since_flush + n_tokens >= kFlushTokens)
    bytes = flush_bytes(s, kTierRecipe, s.since_flush < kFlushTokens ? 1 : 0);
  if (s.requirements().decoding)
    bytes = std::max(bytes, observe_bytes(s)) + s.scores.missing_bytes(0, s.text.n_tokens + 1);
  return bytes;
}

Result<void> Cache::append(std::size_t layer, const float* k, const float* v) {
  CacheState& s = *state_;
  SATCHEL_ASSERT(s.step_open && layer < s.layout.shape.n_layers() && s.appended[layer] == 0);
  const std::size_t head_dim = s.layout.shape.layers[layer].head_dim, n = s.step_tokens;
  const std::size_t first = s.layout.first_lane[layer], end = s.layout.first_lane[layer + 1];
  const auto position = static_cast<std::int32_t>(s.text.n_tokens + s.draft.n_tokens);
  s.step.stores.clear();
  for (std::size_t i = first; i < end; ++i) {
    const Lane& lane = s.lanes[i];
    const bool to_sinks = s.next_is_sink(lane);
    const ExactBlock block = to_sinks ? lane.sinks() : lane.tail();
    const std::size_t slot = to_sinks ? lane.n_sinks() : lane.n_tail();
    const std::array rows = {std::pair(k, block.k), std::pair(v, block.v)};
    for (const auto& [from, to] : std::span(rows).first(lane.token().n_rows()))
      s.step.stores.push_back({.from = from + (i - first) * head_dim,
                               .n_rows = n,
                               .n_values = head_dim,
                               .from_stride = (end - first) * head_dim,
                               .to = to + slot * head_dim,
                               .first_position = position});
    s.step.stores.back().positions = block.positions + slot;
  }
  SATCHEL_TRY(s.backend.store(s.step.stores));
  for (std::size_t i = first; i < end; ++i) {  // only now is it visible
    Lane& lane = s.lanes[i];
    const bool to_sinks = s.next_is_sink(lane);
    lane.set_lengths(lane.n_sinks() + (to_sinks ? n : 0), lane.n_tail() + (to_sinks ? 0 : n));
    SATCHEL_TRY(s.show_runs(i));
  }
  SATCHEL_TRY(s.show_all_if_stale());  // where another cache's step has moved extents
  s.appended[layer] = 1;
  return {};
}

Result<void> Cache::end_step(std::size_t n_kept) {
  CacheState& s = *state_;
  SATCHEL_ASSERT(s.step_open && !s.draft.open && n_kept > 0 && n_kept <= s.step_tokens);
  for (std::uint8_t& appended : s.appended) {
    SATCHEL_ASSERT(appended == 1);
    appended = 0;
  }
  s.step_open = false;
  if (s.draft.choosing) s.draft.n_pages = 0;
  s.draft.choosing = false;
  if (n_kept < s.step_tokens) {
    for (Lane& lane : s.lanes) CacheState::drop_newest(lane, s.step_tokens - n_kept);
    s.table_is_stale = true;
  }
  s.states.adopt(s.next_serial);
  if (s.text.n_tokens >= kSinkTokens) s.since_flush += n_kept;
  s.extend_text({.n_tokens = n_kept, .kind = SegmentKind::answer}, SegmentState::open);
  if (s.pages_chosen) s.table_is_stale = true;
  s.pages_chosen = false;
  SATCHEL_TRY(flush_if_due(s));
  return s.show_all_if_stale();
}

bool Cache::needs_step() const {
  const ScorerRequirements requirements = state_->requirements();
  const bool decides_next = state_->since_flush + 1 >= kFlushTokens;
  return requirements.decoding && (!requirements.newest_step || decides_next);
}

Result<void> Cache::observe_step(std::size_t layer, const float* q, const float* lse,
                                 const kernels::Batch& batch) {
  CacheState& s = *state_;
  SATCHEL_ASSERT(s.step_open && batch.n_tokens == 1);
  if (!s.layout.takes_part(layer)) return {};
  const bool replaces = s.requirements().newest_step;
  return see_layer(s, layer, q, lse, batch,
                   [&](const Observation& seen, std::size_t head, std::size_t index) {
                     return observe_lane(s, seen, index, head, replaces);
                   });
}

}  // namespace satchel::kvcache
