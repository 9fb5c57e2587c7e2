// Lane: sinks, body and tail of one layer and KV head, and the view of them that attention reads.
// The bytes lie in the pool; here are lengths, page ids and the tail's positions, which main memory
// must know to name the range of a new page.
//   owns       nothing of the pool: whoever empties a lane gives its pages back
//   invariants 1 pages, page_views have the same length
//              2 view spans point into this lane, which therefore never moves
//              3 sinks and tail are at most kSinkTokens, kTailCapacity; a tail only behind full
//                sinks
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/cache.h"
#include "kvcache/exact_block.h"
#include "kvcache/pool.h"

namespace satchel::kvcache {

// Bytes of one lane in the fixed part of the pool.
std::size_t lane_fixed_bytes(std::size_t head_dim);
// Of all lanes, as the pool rounds it.
std::size_t fixed_bytes(const CacheShape& shape);

class Lane {
 public:
  Lane(std::byte* fixed, std::size_t head_dim);
  Lane(const Lane&) = delete;
  Lane(Lane&&) = delete;

  std::size_t n_sinks() const { return n_sinks_; }
  std::size_t n_tail() const { return n_tail_; }
  std::size_t n_kept() const { return n_sinks_ + pages_.size() * kernels::kPageTokens + n_tail_; }
  const ExactBlock& sinks() const { return sinks_; }
  const ExactBlock& tail() const { return tail_; }
  std::span<const std::int32_t> tail_positions() const {
    return std::span(tail_positions_).first(n_tail_);
  }
  std::span<const PageId> pages() const { return pages_; }
  std::span<const kernels::PageView> page_views() const { return page_views_; }
  // Sinks and tail with room for the sum of both; spans stay valid until the next change.
  kernels::LaneView view(std::span<const kernels::PageView> pages_read) const {
    return {std::span(runs_).first((n_sinks_ > 0 ? 1u : 0u) + (n_tail_ > 0 ? 1u : 0u)), pages_read};
  }

  // Where the next token goes, and that it is there.
  bool next_is_sink() const { return n_sinks_ < kSinkTokens; }
  void set_lengths(std::size_t n_sinks, std::size_t n_tail);
  void set_tail_position(std::size_t slot, std::int32_t position) {
    tail_positions_[slot] = position;
  }
  // The oldest kPageTokens of the tail left it: the rest moves to the front.
  void drop_flushed();
  void reserve_pages(std::size_t n_pages);
  void add_page(PageId page, const kernels::PageView& view);
  void clear();

 private:
  ExactBlock sinks_, tail_;
  std::size_t n_sinks_ = 0, n_tail_ = 0;
  std::array<std::int32_t, kTailCapacity> tail_positions_{};
  std::array<kernels::ExactRun, 2> runs_{};
  std::vector<PageId> pages_;
  std::vector<kernels::PageView> page_views_;
};

}  // namespace satchel::kvcache
