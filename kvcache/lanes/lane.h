// Lane: the sinks, body and tail of one layer and KV head. The bytes are in extents of the arena;
// the lane has lengths, the page list, and the views that attention reads.
//   owns       a share of its extents; call give_all() before destruction
//   invariants 1 pages in reach come first and have views; views_[i] is of pages_[i]. Of a far page
//                it has the bytes' address from a fetch and refresh() to the arena's next move
//              2 view spans point into this lane, which therefore never moves
//              3 sinks hold positions 0 …, the tail [end - n_tail, end) of the cache's n_tokens;
//                there is a tail only if the sinks are full. Where the reach moves the sinks,
//                attention sees a copy of them, rotated to where they seem to stand
//              4 every page has a live slot; no two pages hold the same position
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/contract/lane_view.h"
#include "kvcache/lanes/arena.h"
#include "kvcache/lanes/exact_block.h"
#include "kvcache/lanes/reach.h"

namespace satchel::kvcache {

// A page of a lane. Its bytes never change; which slots are live and its shift may.
struct PageRecord {
  ExtentId extent = {};
  std::uint64_t serial = 0;  // unique within the cache that made it
  // Serial of the page that owns the bytes: its own, except for the second half of a page that was
  // split in two. Saved records refer to it.
  std::uint64_t bytes_serial = 0;
  std::uint8_t tier = 0;
  std::uint32_t n_tokens = 0;  // slots filled
  kernels::LiveMask live;
  std::int32_t shift = 0;
  std::int32_t first_position = 0, last_position = 0;  // of live slots, shift included
  const kernels::PageLayout* layout = nullptr;

  // Whether its range has positions of [first, end).
  bool overlaps(std::size_t first, std::size_t end) const {
    return static_cast<std::size_t>(last_position) >= first &&
           static_cast<std::size_t>(first_position) < end;
  }
};

class Lane {
 public:
  // Capacity for sinks and tail in `exact`, an extent of exact_bytes().
  struct Capacity {
    std::size_t n_sinks = 0, n_tail = 0;
  };
  static std::size_t exact_bytes(const TokenShape& token, const Capacity& capacity);
  // reach: the cache's; outlives this. After it changes: arrange().
  Lane(Arena& arena, const Reach& reach, const TokenShape& token, ExtentId exact,
       const Capacity& capacity, std::size_t tail_kept);
  Lane(const Lane&) = delete;
  Lane(Lane&&) = delete;

  const TokenShape& token() const { return token_; }
  std::size_t head_dim() const { return token_.head_dim; }
  std::size_t n_sinks() const { return n_sinks_; }
  std::size_t n_tail() const { return n_tail_; }
  std::size_t tail_kept() const { return tail_kept_; }  // tail length after a flush
  const Capacity& capacity() const { return capacity_; }
  ExtentId exact_extent() const { return exact_; }
  std::size_t n_body() const;   // live tokens in pages
  std::size_t n_slots() const;  // in sinks, pages and tail, live or not
  std::size_t n_kept() const { return n_sinks_ + n_body() + n_tail_; }
  // Of pages that share an extent, as those do that were split, one: it stands for the bytes.
  bool owns_bytes(std::size_t index) const;
  ExactBlock sinks() const;
  ExactBlock tail() const;
  // As attention sees them: where the reach has moved them to.
  kernels::ExactRun seen_sinks() const;
  std::span<const PageRecord> pages() const { return pages_; }
  // Those that attention sees: the first page_views().size() of them.
  std::span<const PageRecord> pages_in_reach() const {
    return std::span(pages_).first(views_.size());
  }
  std::span<const kernels::PageView> page_views() const { return views_; }
  std::span<const kernels::ExactRun> runs() const { return std::span(runs_).first(n_runs_); }

  void set_lengths(std::size_t n_sinks, std::size_t n_tail);
  // Uses another extent for sinks and tail; the caller has copied their tokens.
  void set_exact(ExtentId exact, const Capacity& capacity, std::size_t tail_kept);
  void reserve_pages(std::size_t n_pages);
  void add_page(const PageRecord& page);
  // Updates a page whose live mask, shift or positions have changed.
  void replace_page(std::size_t index, const PageRecord& page);
  // Removes pages without live slots and gives back their extents.
  void drop_empty_pages();
  void give_all();
  // Updates all addresses after extents have moved.
  void refresh();
  // Pages that are in reach now come first, in text order.
  void arrange();
  // An extent for the moved copy of the sinks; held while the reach moves them.
  std::size_t moved_sinks_bytes() const { return exact_block_bytes(capacity_.n_sinks, token_); }
  bool has_moved_sinks() const { return has_moved_sinks_; }
  void set_moved_sinks(ExtentId extent);
  void give_moved_sinks();
  ExactBlock moved_sinks() const;
  ExtentId moved_sinks_extent() const { return moved_sinks_; }

 private:
  void set_view(std::size_t index);
  bool in_reach(const PageRecord& page) const {
    return reach_.moved(static_cast<std::size_t>(page.first_position)).has_value();
  }

  Arena& arena_;
  const Reach& reach_;
  TokenShape token_;
  ExtentId exact_, moved_sinks_ = {};
  bool has_moved_sinks_ = false;
  Capacity capacity_;
  std::size_t tail_kept_, n_sinks_ = 0, n_tail_ = 0, n_runs_ = 0;
  std::array<kernels::ExactRun, 2> runs_{};
  std::vector<PageRecord> pages_;
  std::vector<kernels::PageView> views_;
};

}  // namespace satchel::kvcache
