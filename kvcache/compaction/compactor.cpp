#include "kvcache/compaction/compactor.h"

#include "kvcache/compaction/compaction.h"
#include "kvcache/compaction/flush.h"
#include "kvcache/state/cache_stats.h"

namespace satchel::kvcache {

Result<CompactionReport> Compactor::compact(TriggerEvent event) {
  CacheState& s = cache_;
  SATCHEL_ASSERT(s.prefill == nullptr);
  s.undo_open_step();
  SATCHEL_TRY(flush_if_due(s));
  SATCHEL_TRY_ASSIGN(CompactionReport report, Compaction(s).settle(event));
  if (event != TriggerEvent::over_limit || s.arena.has_far()) return report;
  SATCHEL_TRY_ASSIGN(const CompactionReport held, Compaction(s).lower_held());
  report.n_lowered += held.n_lowered;
  return report;
}

// What a second pass looks at goes together: a turn, and turns before it that wait as well.
Result<CompactionReport> Compactor::end_turn() {
  CacheState& s = cache_;
  SATCHEL_ASSERT(s.prefill == nullptr);
  s.undo_open_step();
  const bool together = s.requirements().probe;
  for (std::size_t i = 0; i < s.text.segments.size(); ++i) {
    TextSegment& segment = s.text.segments[i];
    if (segment.state != SegmentState::open) continue;
    segment.state = SegmentState::pending;
    TextSegment* before = i > 0 ? &s.text.segments[i - 1] : nullptr;
    const bool joins = together && before != nullptr && before->state == SegmentState::pending &&
                       before->kind != SegmentKind::document && before->n_probed == 0;
    if (!joins) continue;
    before->n_tokens += segment.n_tokens;
    s.text.segments.erase(s.text.segments.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  SATCHEL_TRY(flush_if_due(s));
  return Compaction(s).settle(TriggerEvent::turn_ended);
}

Result<CompactionReport> Compactor::reclaim(std::size_t free_bytes) {
  CacheState& s = cache_;
  SATCHEL_ASSERT(s.prefill == nullptr);
  s.undo_open_step();
  if (s.arena.has_far()) return CompactionReport{};  // it makes room by other means
  return Compaction(s).reclaim(free_bytes);
}

Result<CompactionReport> Compactor::shrink_to(std::size_t bytes) {
  CacheState& s = cache_;
  SATCHEL_TRY(make_idle(s));
  if (s.arena.has_far()) return CompactionReport{};
  const CacheStats now = stats_of(s);
  const std::size_t fixed = now.bytes - now.body_bytes;
  return Compaction(s).shrink_to(bytes - std::min(bytes, fixed));
}

Result<CompactionReport> Compactor::follow_recipe() {
  CacheState& s = cache_;
  SATCHEL_TRY(make_idle(s));
  return Compaction(s).follow_recipe();
}

}  // namespace satchel::kvcache
