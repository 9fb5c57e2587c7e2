// Parts of a document that are left unread, so that a question need not wait for all of it.
#include <algorithm>

#include "runtime/session/past.h"

namespace satchel::runtime {

using kvcache::SegmentKind;
using kvcache::TextSegment;

// A window's lanes hold text without a gap, and a recurrent layer carries all of it, so there
// everything is read in order.
bool Past::may_leave(const IndexRange& document) const {
  const kvcache::Cache& cache = *parts_.cache;
  if (!goes_on() || parts_.cache.n_tokens() <= head_end() || cache.shape().reads_in_order())
    return false;
  const std::size_t n = document.end - document.begin;
  return cache.segments().back().is_unread() ||
         (!has_room(n, SegmentKind::document) && !has_near_room(n));
}

Result<void> Past::leave_unread(const IndexRange& document, const RepeatScript& script,
                                const std::stop_token& stop) {
  SATCHEL_TRY(gather_until(document.begin, script, stop));
  return parts_.cache->edit().skip(document.end - document.begin, reach_of(document.end, {}, 0));
}

std::optional<IndexRange> Past::next_unread() const {
  if (parts_.cache.is_lost() || parts_.cache.n_tokens() == n_given_up_) return std::nullopt;
  const auto segments = parts_.cache->segments();
  const auto first = std::ranges::find_if(segments, &TextSegment::is_unread);
  if (first == segments.end()) return std::nullopt;
  return IndexRange{.begin = first->first, .end = first->end()};
}

bool Past::is_unread(const IndexRange& episode) const {
  return std::ranges::any_of(parts_.cache->segments(), [&](const TextSegment& segment) {
    return segment.first == episode.begin && segment.is_unread();
  });
}

Result<void> Past::read_unread(const IndexRange& episode, const RepeatScript& script,
                               const std::stop_token& stop, const ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(const bool read,
                     read_again(episode, kvcache::RereadReason::none, script, stop, progress));
  if (!read) n_given_up_ = parts_.cache.n_tokens();
  return {};
}

}  // namespace satchel::runtime
