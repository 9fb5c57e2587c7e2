#include "kvcache/lane.h"

#include <algorithm>

namespace satchel::kvcache {

std::size_t lane_fixed_bytes(std::size_t head_dim) {
  return exact_block_bytes(kSinkTokens, head_dim) + exact_block_bytes(kTailCapacity, head_dim);
}

std::size_t fixed_bytes(const CacheShape& shape) {
  return (shape.n_lanes() * lane_fixed_bytes(shape.head_dim) + 255) / 256 * 256;
}

Lane::Lane(std::byte* fixed, std::size_t head_dim)
    : sinks_(exact_block(fixed, kSinkTokens, head_dim)),
      tail_(
          exact_block(fixed + exact_block_bytes(kSinkTokens, head_dim), kTailCapacity, head_dim)) {}

void Lane::set_lengths(std::size_t n_sinks, std::size_t n_tail) {
  SATCHEL_ASSERT(n_sinks <= kSinkTokens && n_tail <= kTailCapacity);
  SATCHEL_ASSERT(n_tail == 0 || n_sinks == kSinkTokens);
  n_sinks_ = n_sinks;
  n_tail_ = n_tail;
  runs_ = {sinks_.run(n_sinks), tail_.run(n_tail)};
}

void Lane::drop_flushed() {
  SATCHEL_ASSERT(n_tail_ == kTailCapacity);
  std::copy(tail_positions_.begin() + kernels::kPageTokens, tail_positions_.end(),
            tail_positions_.begin());
  set_lengths(n_sinks_, kTailTokens);
}

void Lane::reserve_pages(std::size_t n_pages) {
  pages_.reserve(n_pages);
  page_views_.reserve(n_pages);
}

void Lane::add_page(PageId page, const kernels::PageView& view) {
  SATCHEL_ASSERT(pages_.size() < pages_.capacity());  // reserved by the cache, never here
  pages_.push_back(page);
  page_views_.push_back(view);
}

void Lane::clear() {
  set_lengths(0, 0);
  pages_.clear();
  page_views_.clear();
}

}  // namespace satchel::kvcache
