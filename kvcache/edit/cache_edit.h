// CacheEdit: edits of what a cache holds: cut the end off, forget a passage, pin it, move it, take
// it out of attention's reach. Bytes of pages never change; what a lane sees of them does.
// Positions are never given to other tokens, but by move_text(). place() puts text of another
// cache behind this one's.
//   errors  CACHE_RANGE, CACHE_POSITION, CACHE_FULL: nothing has changed
//   needs   no open prefill; undoes an open step
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/result.h"
#include "kvcache/lanes/reach.h"
#include "kvcache/layout/text_segments.h"

namespace satchel::kvcache {

struct CacheState;

class CacheEdit {
 public:
  explicit CacheEdit(CacheState& cache) : cache_(cache) {}

  // Forgets everything from position n_tokens on.
  //   errors  CACHE_RANGE: also where recurrent layers have no states at that position
  Result<void> truncate(std::size_t n_tokens);
  // The largest position at or before n_tokens to which the text can be cut so that what is left is
  // what prefilling as many tokens leaves: prefill goes on from there. That is n_tokens itself
  // where no layer has a window or a state. Text that has passed out of a window is gone, so a text
  // cut far back is prefilled again from its beginning: 0. Recurrent layers go back to a
  // checkpoint.
  std::size_t truncation_point(std::size_t n_tokens) const;
  // Forgets positions first … first + n - 1, but for sinks; the others keep their positions.
  //   errors  CACHE_RANGE: also where some of it rests, here and in pin(), or where recurrent
  //           layers carry what they have read
  Result<void> forget(std::size_t first, std::size_t n);
  // From now on never compressed (what has been lost before stays lost).
  Result<void> pin(std::size_t first, std::size_t n);
  // What is pinned there is text of this kind again: held as it is until memory is needed.
  Result<void> unpin(std::size_t first, std::size_t n, SegmentKind kind);
  // Text from position `first` on stands `by` positions later (or earlier) from now on: nothing is
  // encoded again. The positions it leaves and enters must be free; all text is in reach.
  //   errors  CACHE_RANGE: also where recurrent layers carry what they have read
  Result<void> move_text(std::size_t first, std::int32_t by);
  // Tokens first … first + n - 1 of `other` stand behind the text from now on, held as `other`
  // holds them: a cache of the same recipe over the same arena, of which only the tail goes to
  // pages. No page is encoded again, and the shift is exact: attention meets these tokens as if
  // they had been read where they stand now, but what they have seen is what stood before them in
  // `other` (TextSegment::is_placed).
  //   errors  CACHE_RANGE: a layer has a window or a state; they are not all there, of its first
  //           ones, or wait for a decision; a text has no sinks or is partly out of reach.
  //           CACHE_POSITION, CACHE_FULL. Nothing has changed here
  Result<void> place(std::size_t first, std::size_t n, CacheState& other);
  // What attention sees from now on; text out of reach stays held, and is saved. Where this is, the
  // first part holds the sinks. Truncating what was read shortens it.
  //   errors  CACHE_REACH: it does not fit the text, or some of it rests; CACHE_FULL. Nothing has
  //           changed
  Result<void> set_reach(const Reach& wanted);
  // Tokens first … first + n - 1 are one episode from now on, held as they are.
  //   errors  CACHE_RANGE: some of it is pinned, or has not been decided. Nothing has changed
  Result<void> gather(std::size_t first, std::size_t n);
  // The same, held as `other` holds them: a cache of the same recipe over the same arena that has
  // read that text, and may go afterwards. So an episode that rests comes back.
  //   errors  also CACHE_RANGE where some of it is pinned or has not been decided in `other`, and
  //           CACHE_FULL. Nothing has changed here
  Result<void> gather(std::size_t first, std::size_t n, CacheState& other);
  // The caller keeps this episode elsewhere from now on: what is held of it goes. Where nothing is,
  // it stays as it is.
  //   errors  CACHE_RANGE: it is no episode, or in attention's reach. Nothing has changed
  Result<void> rest(std::size_t first, std::size_t n);
  // n tokens behind the text are an episode from now on that rests, although nothing has read it:
  // it comes back as others do, once a fork has. `wanted` is the reach from now on, with no near
  // text.
  //   errors  CACHE_RANGE: a layer has a window or a state, or the text has no sinks yet;
  //           CACHE_REACH, CACHE_FULL. Nothing has changed
  Result<void> skip(std::size_t n, const Reach& wanted);
  // Only the first n_head tokens stay, and behind them n from position `first` on: all in reach.
  // move_text() brings these back to where they stood. After an error it may hold more. Where
  // layers are recurrent, what is left can be saved and gathered, but not continued.
  Result<void> keep_only(std::size_t n_head, std::size_t first, std::size_t n);

 private:
  // Segments inside the range that `changes` takes are of this kind from now on, and decided.
  template <class Changes>
  Result<void> set_kind(std::size_t first, std::size_t n, SegmentKind kind, Changes changes);

  CacheState& cache_;
};

}  // namespace satchel::kvcache
