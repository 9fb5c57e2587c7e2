// commit(): the prefilled tokens move into the lanes. Nothing here needs memory of the arena; where
// some is free, sinks and tails get the capacity that they will need.

#include "kvcache/compaction/compaction.h"
#include "kvcache/prefill/prefill_state.h"

namespace satchel::kvcache {

Result<void> Prefill::State::move_in(std::size_t index) {
  const LanePlan& part = plan.lanes[index];
  Lane& lane = cache.lanes[index];
  const std::size_t n_new = n_staged_tail(plan, part), n_old = part.n_tail_after - n_new;
  const ExactBlock staged =
      exact_block(scratch.at(part.staged_at), part.n_new_sinks + n_new, lane.token());
  SATCHEL_TRY(copy_exact(cache.backend, lane.head_dim(),
                         {staged, 0, lane.sinks(), lane.n_sinks(), part.n_new_sinks}));
  SATCHEL_TRY(copy_exact(cache.backend, lane.head_dim(),
                         {lane.tail(), lane.n_tail() - n_old, lane.tail(), 0, n_old}));
  SATCHEL_TRY(copy_exact(cache.backend, lane.head_dim(),
                         {staged, part.n_new_sinks, lane.tail(), n_old, n_new}));
  lane.set_lengths(lane.n_sinks() + part.n_new_sinks, part.n_tail_after);
  lane.reserve_pages(lane.pages().size() + packer.n_pages(index));
  for (const PageRecord& page : packer.take_pages(index)) lane.add_page(page);
  return cache.show(index);
}

Result<CompactionReport> Prefill::State::commit_span() {
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
    const Result<void> moved = move_in(i);
    if (moved.ok()) continue;  // else the device is lost, and with it what the cache held
    return cache.lose_all(moved.error());
  }
  committed = true;
  cache.states.adopt(cache.next_serial);
  cache.since_flush = plan.since_flush_after;
  cache.extend_text(plan.request, plan.state_after);
  for (std::size_t i = 0; i < cache.lanes.size(); ++i)
    SATCHEL_TRY(cache.fit_exact(i, plan.lanes[i].tail_kept));
  SATCHEL_TRY(cache.drop_behind_windows());
  cache.reserve_lists();
  SATCHEL_TRY(cache.show_all_if_stale());
  CompactionReport report{.n_segments = plan.mode == PrefillMode::in_layer ? 1u : 0u,
                          .n_evicted = packer.n_evicted()};
  if (plan.state_after != SegmentState::pending) return report;
  return Compaction(cache).settle(TriggerEvent::span_read);
}

Result<CompactionReport> Prefill::commit() {
  State& s = *state_;
  SATCHEL_ASSERT(!s.layer_open && s.scratch.layer == s.cache.layout.shape.n_layers());
  if (!s.probe) return s.commit_span();
  s.probe->mark();
  s.committed = true;
  s.cache.forget_scores();  // of text that is not pending
  return CompactionReport{};
}

}  // namespace satchel::kvcache
