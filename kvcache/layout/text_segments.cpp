#include "kvcache/layout/text_segments.h"

#include <algorithm>
#include <cstddef>

namespace satchel::kvcache {

const TextSegment* TextSegments::at(std::size_t position) const {
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment)
    if (segment->contains(position)) return &*segment;
  return nullptr;
}

bool TextSegments::is_protected(std::size_t position) const {
  const TextSegment* segment = at(position);
  return segment == nullptr || segment->kind == SegmentKind::pinned ||
         segment->state == SegmentState::open;
}

bool TextSegments::joins_pending(const PrefillRequest& read, bool wants_probe) const {
  return read.goes_on && wants_probe && !segments.empty() && segments.back().kind == read.kind &&
         segments.back().state == SegmentState::pending && segments.back().n_probed == 0;
}

// Documents that came one after the other stay apart.
void TextSegments::extend(const PrefillRequest& read, SegmentState state, bool wants_probe) {
  const bool goes_on =
      joins_pending(read, wants_probe) ||
      (!segments.empty() && segments.back().kind == read.kind && segments.back().state == state &&
       !segments.back().is_placed && read.kind != SegmentKind::document);
  if (goes_on) {
    segments.back().n_tokens += read.n_tokens;
  } else {
    segments.push_back(
        {.first = n_tokens, .n_tokens = read.n_tokens, .kind = read.kind, .state = state});
  }
  n_tokens += read.n_tokens;
}

void TextSegments::cut(std::size_t position) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (position <= segments[i].first || position >= segments[i].end()) continue;
    TextSegment behind = segments[i];
    behind.n_tokens = segments[i].end() - position;
    behind.first = position;
    const std::size_t before = position - segments[i].first;
    behind.n_probed = segments[i].n_probed - std::min(segments[i].n_probed, before);
    // Which of its tokens are kept is not known here.
    behind.n_resting = segments[i].n_resting * behind.n_tokens / segments[i].n_tokens;
    segments[i].n_tokens = before;
    segments[i].n_probed = std::min(segments[i].n_probed, before);
    segments[i].n_resting -= behind.n_resting;
    segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(i) + 1, behind);
    return;
  }
}

void TextSegments::replace(const TextSegment& segment) {
  cut(segment.first);
  cut(segment.end());
  std::erase_if(segments, [&](const TextSegment& old) { return segment.contains(old.first); });
  segments.insert(std::ranges::lower_bound(segments, segment.first, {}, &TextSegment::first),
                  segment);
}

}  // namespace satchel::kvcache
