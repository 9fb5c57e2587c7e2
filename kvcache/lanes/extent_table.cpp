#include "kvcache/lanes/extent_table.h"

#include <algorithm>
#include <utility>

namespace satchel::kvcache {

// Each hole has an extent right above it, so there are never more holes than extents.
void ExtentTable::reserve(std::size_t n_more) {
  const std::size_t n_most = n_extents_ + n_more;
  if (blocks_.capacity() < 2 * n_most)
    blocks_.reserve(std::max(2 * n_most, 2 * blocks_.capacity()));
  if (hole_sizes_.capacity() < n_most)
    hole_sizes_.reserve(std::max(n_most, 2 * hole_sizes_.capacity()));
}

std::optional<ExtentId> ExtentTable::take(std::size_t bytes, std::size_t end_max) {
  SATCHEL_ASSERT(bytes > 0);
  reserve(1);
  const auto fitting = hole_size(bytes);
  Index at = kNone;
  if (fitting != hole_sizes_.end()) {
    const Index hole = fitting->newest;
    delist(hole);
    if (blocks_[hole].bytes == bytes) {
      at = hole;
    } else {  // from its lower end; the rest stays a hole
      at = new_row();
      blocks_[at].offset = blocks_[hole].offset;
      link(at, blocks_[hole].below, hole);
      blocks_[hole].offset += bytes;
      blocks_[hole].bytes -= bytes;
      enlist(hole);
    }
  } else {
    if (end_ > end_max || bytes > end_max - end_) return std::nullopt;
    at = new_row();
    blocks_[at].offset = end_;
    link(at, topmost_, kNone);
    end_ += bytes;
  }
  blocks_[at].bytes = bytes;
  blocks_[at].n_shares = 1;
  ++n_extents_;
  used_bytes_ += bytes;
  return ExtentId{at};
}

void ExtentTable::share(ExtentId id) {
  (void)extent(id);  // asserts
  Block& block = blocks_[static_cast<Index>(id)];
  ++block.n_shares;
  SATCHEL_ASSERT(block.n_shares > 0);
}

void ExtentTable::give(ExtentId id) {
  (void)extent(id);
  const Index at = static_cast<Index>(id);
  if (--blocks_[at].n_shares > 0) return;
  --n_extents_;
  used_bytes_ -= blocks_[at].bytes;
  open_hole(at);
}

Result<void> ExtentTable::close_holes(const std::function<Result<void>(const Move&)>& copy) {
  Index hole = lowest_;
  while (hole != kNone && !is_hole(hole)) hole = blocks_[hole].above;
  while (hole != kNone) {  // nothing below it is free
    const Index run_first = blocks_[hole].above;
    Index run_last = run_first;
    for (Index next = blocks_[run_last].above; next != kNone && !is_hole(next);
         next = blocks_[next].above)
      run_last = next;
    const std::size_t from = blocks_[run_first].offset;
    const std::size_t run_end = blocks_[run_last].offset + blocks_[run_last].bytes;
    SATCHEL_TRY(copy(Move{.to = blocks_[hole].offset, .from = from, .bytes = run_end - from}));
    hole = lift(hole, run_first, run_last);
  }
  return {};
}

// The hole and the run of extents above it change places. Returns the hole, grown by one that it
// meets; kNone when it has reached the end.
ExtentTable::Index ExtentTable::lift(Index hole, Index run_first, Index run_last) {
  const std::size_t bytes = blocks_[hole].bytes;
  delist(hole);
  for (Index at = run_first;; at = blocks_[at].above) {
    blocks_[at].offset -= bytes;
    if (at == run_last) break;
  }
  const Index below = blocks_[hole].below;
  (below == kNone ? lowest_ : blocks_[below].above) = run_first;
  blocks_[run_first].below = below;
  link(hole, run_last, blocks_[run_last].above);
  blocks_[hole].offset = blocks_[run_last].offset + blocks_[run_last].bytes;
  open_hole(hole);
  return topmost_ == run_last ? kNone : hole;
}

// `at` is linked, free and not enlisted: joins it with the holes beside it, or with the end.
void ExtentTable::open_hole(Index at) {
  if (is_hole(blocks_[at].above)) absorb_above(at);
  if (const Index below = blocks_[at].below; is_hole(below)) {
    delist(below);
    blocks_[at].offset = blocks_[below].offset;
    blocks_[at].bytes += blocks_[below].bytes;
    unlink(below);
  }
  if (at == topmost_) {
    end_ = blocks_[at].offset;
    unlink(at);
  } else {
    enlist(at);
  }
}

void ExtentTable::absorb_above(Index at) {
  const Index above = blocks_[at].above;
  delist(above);
  blocks_[at].bytes += blocks_[above].bytes;
  unlink(above);
}

const ExtentTable::Block& ExtentTable::extent(ExtentId id) const {
  const auto at = static_cast<Index>(id);
  SATCHEL_ASSERT(at < blocks_.size() && blocks_[at].n_shares > 0);
  return blocks_[at];
}

ExtentTable::Index ExtentTable::new_row() {
  if (unused_ == kNone) {
    blocks_.emplace_back();
    return static_cast<Index>(blocks_.size() - 1);
  }
  const Index row = unused_;
  unused_ = blocks_[row].above;
  blocks_[row] = {};
  return row;
}

void ExtentTable::link(Index at, Index below, Index above) {
  blocks_[at].below = below;
  blocks_[at].above = above;
  (below == kNone ? lowest_ : blocks_[below].above) = at;
  (above == kNone ? topmost_ : blocks_[above].below) = at;
}

void ExtentTable::unlink(Index at) {
  const Index below = blocks_[at].below, above = blocks_[at].above;
  (below == kNone ? lowest_ : blocks_[below].above) = above;
  (above == kNone ? topmost_ : blocks_[above].below) = below;
  blocks_[at] = {.above = unused_};
  unused_ = at;
}

std::vector<ExtentTable::HoleSize>::iterator ExtentTable::hole_size(std::size_t bytes) {
  return std::lower_bound(
      hole_sizes_.begin(), hole_sizes_.end(), bytes,
      [](const HoleSize& size, std::size_t wanted) { return size.bytes < wanted; });
}

void ExtentTable::enlist(Index hole) {
  auto size = hole_size(blocks_[hole].bytes);
  if (size == hole_sizes_.end() || size->bytes != blocks_[hole].bytes)
    size = hole_sizes_.insert(size, {.bytes = blocks_[hole].bytes, .newest = kNone});
  blocks_[hole].older = size->newest;
  blocks_[hole].newer = kNone;
  if (size->newest != kNone) blocks_[size->newest].newer = hole;
  size->newest = hole;
}

void ExtentTable::delist(Index hole) {
  const Index older = std::exchange(blocks_[hole].older, kNone);
  const Index newer = std::exchange(blocks_[hole].newer, kNone);
  if (older != kNone) blocks_[older].newer = newer;
  if (newer != kNone) {
    blocks_[newer].older = older;
    return;
  }
  const auto size = hole_size(blocks_[hole].bytes);
  SATCHEL_ASSERT(size != hole_sizes_.end() && size->newest == hole);
  size->newest = older;
  if (older == kNone) hole_sizes_.erase(size);
}

void ExtentTable::check_invariants() const {
  std::size_t offset = 0, used = 0, n_extents = 0, n_holes = 0, n_enlisted = 0;
  Index below = kNone;
  for (Index at = lowest_; at != kNone; below = at, at = blocks_[at].above) {
    SATCHEL_ASSERT(blocks_[at].offset == offset && blocks_[at].bytes > 0);
    SATCHEL_ASSERT(blocks_[at].below == below);
    SATCHEL_ASSERT(!(is_hole(at) && (is_hole(below) || at == topmost_)));
    offset += blocks_[at].bytes;
    if (is_hole(at)) {
      ++n_holes;
    } else {
      ++n_extents;
      used += blocks_[at].bytes;
    }
  }
  SATCHEL_ASSERT(below == topmost_ && offset == end_);
  SATCHEL_ASSERT(used == used_bytes_ && n_extents == n_extents_);
  std::size_t smaller = 0;
  for (const HoleSize& size : hole_sizes_) {
    SATCHEL_ASSERT(size.bytes > smaller && size.newest != kNone);
    smaller = size.bytes;
    for (Index at = size.newest; at != kNone; at = blocks_[at].older, ++n_enlisted)
      SATCHEL_ASSERT(is_hole(at) && blocks_[at].bytes == size.bytes);
  }
  SATCHEL_ASSERT(n_enlisted == n_holes);
}

}  // namespace satchel::kvcache
