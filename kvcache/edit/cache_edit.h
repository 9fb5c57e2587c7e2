// CacheEdit: edits of what a cache holds: cut the end off, forget a passage, pin it, move it. Bytes
// of pages never change; what a lane sees of them does. Positions are never given to other tokens,
// but by move_text().
//   errors  CACHE_RANGE, CACHE_POSITION: nothing has changed
//   needs   no open prefill; undoes an open step
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/result.h"

namespace satchel::kvcache {

struct CacheState;

class CacheEdit {
 public:
  explicit CacheEdit(CacheState& cache) : cache_(cache) {}

  // Forgets everything from position n_tokens on.
  Result<void> truncate(std::size_t n_tokens);
  // Whether what is left would be what prefilling as many tokens leaves: text that has passed out
  // of a layer's window is gone, so there a text cut far back has to be prefilled again from its
  // beginning.
  bool can_truncate(std::size_t n_tokens) const;
  // Forgets positions first … first + n - 1, but for sinks; the others keep their positions.
  Result<void> forget(std::size_t first, std::size_t n);
  // From now on never compressed (what has been lost before stays lost).
  Result<void> pin(std::size_t first, std::size_t n);
  // Text from position `first` on stands `by` positions later (or earlier) from now on: nothing is
  // encoded again. The positions it leaves and enters must be free.
  Result<void> move_text(std::size_t first, std::int32_t by);

 private:
  CacheState& cache_;
};

}  // namespace satchel::kvcache
