#include "kvcache/pool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kvcache/size_text.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kAlign = 256;

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

Error full(const std::string& asked, std::size_t free, std::size_t limit) {
  return Error{ErrorKind::out_of_memory, "CACHE_FULL",
               "The memory limit of " + size_text(limit) + " is reached: " + asked +
                   " more needed, " + size_text(free) +
                   " free. Nothing was changed. Raise the limit, or choose a recipe that keeps "
                   "less."};
}

}  // namespace

ScratchLease::ScratchLease(ScratchLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

ScratchLease& ScratchLease::operator=(ScratchLease other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ScratchLease::~ScratchLease() {
  if (pool_ != nullptr) pool_->give_scratch(data_, bytes_);
}

Result<Pool> Pool::open(kernels::Backend& backend, const PoolPlan& plan) {
  SATCHEL_ASSERT(plan.page_bytes > 0 && plan.page_bytes % kAlign == 0);
  SATCHEL_ASSERT(plan.fixed_bytes <= plan.bytes);
  Pool pool;
  pool.plan_ = plan;
  pool.plan_.bytes = plan.bytes / kAlign * kAlign;
  pool.plan_.fixed_bytes = rounded_up(plan.fixed_bytes);
  SATCHEL_ASSERT(pool.plan_.fixed_bytes <= pool.plan_.bytes);
  SATCHEL_TRY_ASSIGN(pool.arena_, backend.allocate(pool.plan_.bytes));
  pool.free_pages_.reserve((pool.plan_.bytes - pool.plan_.fixed_bytes) / plan.page_bytes);
  pool.peak_bytes_ = pool.plan_.fixed_bytes;
  return pool;
}

std::byte* Pool::fixed() {
  return arena_.data();
}

Result<PageId> Pool::take_page() {
  SATCHEL_TRY(check_free_pages(1));
  PageId page{static_cast<std::uint32_t>(n_pages_ever_)};
  if (free_pages_.empty()) {
    ++n_pages_ever_;
  } else {
    page = free_pages_.back();
    free_pages_.pop_back();
  }
  peak_bytes_ = std::max(peak_bytes_, used_bytes());
  return page;
}

// Pages given back in reverse order of taking leave the pool as it was before.
void Pool::give_page(PageId page) {
  const auto index = static_cast<std::size_t>(page);
  SATCHEL_ASSERT(index < n_pages_ever_);
  if (index + 1 == n_pages_ever_) {
    --n_pages_ever_;
  } else {
    free_pages_.push_back(page);
  }
  if (free_pages_.size() == n_pages_ever_) {  // none is taken: the middle is whole again
    free_pages_.clear();
    n_pages_ever_ = 0;
  }
}

std::byte* Pool::page(PageId page) {
  const auto index = static_cast<std::size_t>(page);
  SATCHEL_ASSERT(index < n_pages_ever_);
  return arena_.data() + plan_.fixed_bytes + index * plan_.page_bytes;
}

Result<ScratchLease> Pool::take_scratch(std::size_t bytes) {
  const std::size_t middle =
      plan_.bytes - plan_.fixed_bytes - n_pages_ever_ * plan_.page_bytes - scratch_bytes_;
  if (bytes > middle || rounded_up(bytes) > middle)
    return full(size_text(bytes), middle, plan_.bytes);
  scratch_bytes_ += rounded_up(bytes);
  peak_bytes_ = std::max(peak_bytes_, used_bytes());
  ScratchLease lease;
  lease.pool_ = this;
  lease.data_ = arena_.data() + plan_.bytes - scratch_bytes_;
  lease.bytes_ = rounded_up(bytes);
  return lease;
}

void Pool::give_scratch(std::byte* data, std::size_t bytes) {
  SATCHEL_ASSERT(data == arena_.data() + plan_.bytes - scratch_bytes_);  // the newest lease
  scratch_bytes_ -= bytes;
}

std::size_t Pool::bytes() const {
  return plan_.bytes;
}
std::size_t Pool::used_bytes() const {
  return plan_.fixed_bytes + (n_pages_ever_ - free_pages_.size()) * plan_.page_bytes +
         scratch_bytes_;
}
std::size_t Pool::peak_bytes() const {
  return peak_bytes_;
}
std::size_t Pool::free_bytes() const {
  return plan_.bytes - used_bytes();
}
std::size_t Pool::free_pages() const {
  const std::size_t middle =
      plan_.bytes - plan_.fixed_bytes - n_pages_ever_ * plan_.page_bytes - scratch_bytes_;
  return free_pages_.size() + middle / plan_.page_bytes;
}

Result<void> Pool::check_free_pages(std::size_t n_pages) const {
  if (n_pages <= free_pages()) return {};
  return full(size_text(n_pages * plan_.page_bytes), free_bytes(), plan_.bytes);
}

}  // namespace satchel::kvcache
