// Pool: the one arena of a cache, reserved when it opens and never grown. Pages of one size come
// from the bottom, scratch from the top; the free middle serves both.
//   owns    the arena. Pages and scratch are addresses in the backend's memory.
//   errors  out_of_memory, CACHE_FULL: says how much was asked, how much is free, what to do
//   cost    take_page and give_page O(1), no allocation
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::kvcache {

enum class PageId : std::uint32_t {};

class Pool;

// A stretch of the arena's top, given back when it goes. Leases are given back in reverse order of
// taking (asserted).
class ScratchLease {
 public:
  ScratchLease() = default;
  ScratchLease(ScratchLease&& other) noexcept;
  ScratchLease& operator=(ScratchLease other) noexcept;
  ~ScratchLease();
  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  friend class Pool;
  Pool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct PoolPlan {
  std::size_t bytes = 0;        // of the whole arena
  std::size_t fixed_bytes = 0;  // at the very bottom: sinks and tails
  std::size_t page_bytes = 0;
};

class Pool {
 public:
  static Result<Pool> open(kernels::Backend& backend, const PoolPlan& plan);
  Pool(Pool&&) noexcept = default;

  std::byte* fixed();
  Result<PageId> take_page();
  void give_page(PageId page);
  std::byte* page(PageId page);
  // 256-byte aligned; not zeroed.
  Result<ScratchLease> take_scratch(std::size_t bytes);

  std::size_t bytes() const;       // the arena
  std::size_t used_bytes() const;  // fixed + pages taken + scratch
  std::size_t peak_bytes() const;
  std::size_t free_bytes() const;
  // Pages that could be taken now.
  std::size_t free_pages() const;
  // Fails as take_page() would, if fewer than n could be taken.
  Result<void> check_free_pages(std::size_t n_pages) const;

 private:
  friend class ScratchLease;
  Pool() = default;
  void give_scratch(std::byte* data, std::size_t bytes);
  kernels::Buffer arena_;
  PoolPlan plan_;
  std::size_t n_pages_ever_ = 0;  // the bottom part that pages have reached
  std::vector<PageId>
      free_pages_;  // given back, reserved ahead so that giving back does not allocate
  std::size_t scratch_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
};

}  // namespace satchel::kvcache
