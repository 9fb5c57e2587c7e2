// The text of a cache as segments, each of one kind: what may be compressed, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/shape/lane_limits.h"
#include "kvcache/shape/tier.h"

namespace satchel::kvcache {

// What a second pass takes at a time: a stretch of the text, and what is said around it. Measured
// as good as the 2,048 of arXiv:2505.23416 for half the cost, and short enough to be interrupted.
inline constexpr std::size_t kProbeTokens = 512, kProbeScript = 64;

enum class SegmentKind : std::uint8_t {
  pinned,    // the system prompt, what is pinned: never compressed
  document,  // compressed after its prefill
  message,   // of the user: compressed when its turn has ended
  answer,    // likewise; decode steps make it
  episode,   // turns that have aged, or a document, gathered: chosen and thinned as one
};
enum class SegmentState : std::uint8_t {
  open,     // of the turn that is being answered
  pending,  // held at a provisional tier until a decision
  done,
  resting,  // an episode that its owner keeps elsewhere, or that has not been read: nothing of it
            // is held here
};
// A stretch of the text that is treated as one.
struct TextSegment {
  std::size_t first = 0, n_tokens = 0;
  SegmentKind kind = SegmentKind::document;
  SegmentState state = SegmentState::open;
  std::size_t n_probed = 0;   // of its tokens, while pending
  std::size_t n_resting = 0;  // lane-tokens that are kept elsewhere, while resting; of windows none
  bool is_placed = false;     // read behind other text than stands before it now (CacheEdit::place)
  std::size_t end() const { return first + n_tokens; }
  bool contains(std::size_t position) const { return position >= first && position < end(); }
  bool is_unread() const { return state == SegmentState::resting && n_resting == 0; }
  bool waits() const { return state == SegmentState::open || state == SegmentState::pending; }
  friend bool operator==(const TextSegment&, const TextSegment&) = default;
};

// Tokens that are to be prefilled at the end of the text.
struct PrefillRequest {
  std::size_t n_tokens = 0;
  SegmentKind kind = SegmentKind::document;
  bool goes_on = false;  // of the text that the span before it begins: decided together with it, if
                         // that is still pending and no second pass has begun on it
  std::uint8_t finest = kTierExact;  // what is pending is held no finer
};

// All that the lanes have seen. Segments lie side by side and cover [0, n_tokens).
struct TextSegments {
  std::vector<TextSegment> segments = {};
  std::size_t n_tokens = 0;

  const TextSegment* at(std::size_t position) const;  // null: no text stands there
  // Whether it must not be compressed: pinned, of the open turn, or no text yet.
  bool is_protected(std::size_t position) const;
  // Whether the request is pending together with the segment before it, so that all of a text
  // shares one budget. wants_probe: whether a second pass decides.
  bool joins_pending(const PrefillRequest& request, bool wants_probe) const;
  // Adds tokens at the end.
  void extend(const PrefillRequest& request, SegmentState state, bool wants_probe);
  // Cuts segments so that one begins at `position`.
  void cut(std::size_t position);
  // `segment` stands in place of what stood there.
  void replace(const TextSegment& segment);
};

// A stretch of pending text that a second pass shall look at.
struct ProbeJob {
  std::size_t first = 0, n_tokens = 0;
  std::size_t end() const { return first + n_tokens; }
};

}  // namespace satchel::kvcache
