// ExtentTable: the allocator of an arena's extents and their share counts. It manages offsets and
// sizes only, no memory.
//   order   extents and holes are contiguous from offset 0 to end(); no two holes touch, and the
//           topmost entry is never a hole
//   choice  the smallest hole that fits (of equal ones the last freed), otherwise the end: the same
//           calls give the same offsets
//   cost    take, share and give O(log s) for s different hole sizes, so O(1) for pages of few
//           sizes; close_holes O(extents). After reserve(n), n more extents can be taken, and given
//           in any order, without the heap. Giving and closing never use the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

// Stays the same when the extent moves.
enum class ExtentId : std::uint32_t {};

class ExtentTable {
 public:
  struct Move {
    std::size_t to = 0, from = 0, bytes = 0;  // to < from; the two may overlap
  };

  void reserve(std::size_t n_more);
  // Takes an extent with one share; nothing if no hole fits and end() would exceed end_max.
  std::optional<ExtentId> take(std::size_t bytes, std::size_t end_max);
  void share(ExtentId id);
  void give(ExtentId id);  // with its last share the extent becomes a hole

  // Moves extents down until there are no holes, one run of extents at a time, lowest first. `copy`
  // moves the bytes, then the table is updated. An error of `copy` stops and is returned: that run
  // and all above stay in place, earlier moves remain.
  Result<void> close_holes(const std::function<Result<void>(const Move&)>& copy);

  std::size_t offset(ExtentId id) const { return extent(id).offset; }
  std::size_t bytes(ExtentId id) const { return extent(id).bytes; }
  std::size_t n_shares(ExtentId id) const { return extent(id).n_shares; }
  std::size_t used_bytes() const { return used_bytes_; }
  std::size_t end() const { return end_; }  // the first byte above all extents
  void check_invariants() const;            // asserts the head's invariants; O(extents)

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};
  struct Block {
    std::size_t offset = 0, bytes = 0;
    std::uint32_t n_shares = 0;          // 0: a hole, or a row that is not in use
    Index below = kNone, above = kNone;  // by offset; rows not in use are chained by `above`
    Index older = kNone, newer = kNone;  // holes of one size
  };
  struct HoleSize {
    std::size_t bytes = 0;
    Index newest = kNone;
  };

  const Block& extent(ExtentId id) const;
  bool is_hole(Index at) const { return at != kNone && blocks_[at].n_shares == 0; }
  Index new_row();
  void link(Index at, Index below, Index above);
  void unlink(Index at);  // from its neighbours; the row may then be used again
  std::vector<HoleSize>::iterator hole_size(std::size_t bytes);  // the first not smaller
  void enlist(Index hole);
  void delist(Index hole);
  void open_hole(Index at);
  void absorb_above(Index at);
  Index lift(Index hole, Index run_first, Index run_last);

  std::vector<Block> blocks_;
  std::vector<HoleSize> hole_sizes_;  // rising
  Index lowest_ = kNone, topmost_ = kNone, unused_ = kNone;
  std::size_t n_extents_ = 0, used_bytes_ = 0, end_ = 0;
};

}  // namespace satchel::kvcache
