// commit(): what was read comes into the lanes. Nothing here needs memory of the arena: where there is
// some, sinks and tails get the room that they will need.
#include <algorithm>

#include "kvcache/compaction/compaction.h"
#include "kvcache/reading/prompt_state.h"

namespace satchel::kvcache {

Result<void> PromptReading::State::move_in(std::size_t index) {
  const LanePlan& part = plan.lanes[index];
  Lane& lane = cache.lanes[index];
  const ExactBlock staged =
      exact_block(at(part.staged_at), part.n_new_sinks + part.n_tail_after, lane.head_dim());
  SATCHEL_TRY(copy_exact(cache.backend, lane.head_dim(),
                         {staged, 0, lane.sinks(), lane.n_sinks(), part.n_new_sinks}));
  SATCHEL_TRY(copy_exact(cache.backend, lane.head_dim(),
                         {staged, part.n_new_sinks, lane.tail(), 0, part.n_tail_after}));
  lane.set_lengths(lane.n_sinks() + part.n_new_sinks, part.n_tail_after);
  lane.reserve_pages(lane.pages().size() + pages[index].size());
  for (const PageRecord& page : pages[index]) lane.add_page(page);
  pages[index].clear();  // the lane has them now
  return cache.show(index);
}

Result<CompactionReport> PromptReading::State::commit_span() {
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
    const Result<void> moved = move_in(i);
    if (moved.ok()) continue;  // else the device is lost, and with it what the cache held
    return cache.lose_all(moved.error());
  }
  committed = true;
  cache.since_flush = plan.since_flush_after;
  cache.extend_text(plan.request, plan.state_after);
  for (std::size_t i = 0; i < cache.lanes.size(); ++i)
    SATCHEL_TRY(cache.fit_exact(i, plan.lanes[i].tail_kept));
  SATCHEL_TRY(cache.drop_behind_windows());
  cache.reserve_lists();
  SATCHEL_TRY(cache.show_all_if_stale());
  CompactionReport report{.n_spans = plan.mode == ReadingMode::in_layer ? 1u : 0u,
                          .n_evicted = n_evicted};
  if (plan.state_after != SpanState::pending) return report;
  return Compaction(cache).settle(Occasion::span_read);
}

Result<CompactionReport> PromptReading::commit() {
  State& s = *state_;
  SATCHEL_ASSERT(!s.layer_open && s.layer == s.cache.shape.n_layers());
  if (s.plan.mode != ReadingMode::probe) return s.commit_span();
  for (TextSpan& span : s.cache.spans)
    if (s.job.first >= span.first && s.job.first < span.end())
      span.n_probed = std::max(span.n_probed, s.job.first + s.job.n_tokens - span.first);
  s.committed = true;
  s.cache.forget_scores();  // of what waits for no decision
  return CompactionReport{};
}

}  // namespace satchel::kvcache
