#include "kvcache/lanes/arena.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/base/size_text.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kAlign = 256;  // of every backend's Buffer, and what kernels may count on

}  // namespace

Arena::Lease::Lease(Lease&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Arena::Lease& Arena::Lease::operator=(Lease other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::Lease::~Lease() {
  if (arena_ != nullptr) arena_->give_scratch(data_, bytes_);
}

Result<std::shared_ptr<Arena>> Arena::open(std::shared_ptr<kernels::Backend> backend,
                                           std::size_t bytes) {
  SATCHEL_ASSERT(backend != nullptr);
  SATCHEL_TRY_ASSIGN(kernels::Buffer memory, backend->allocate(rounded_down(bytes)));
  return std::shared_ptr<Arena>(new Arena(std::move(backend), std::move(memory)));
}

Arena::Arena(std::shared_ptr<kernels::Backend> backend, kernels::Buffer memory)
    : backend_(std::move(backend)), memory_(std::move(memory)), limit_(memory_.size()) {}

Arena::~Arena() {
  SATCHEL_ASSERT(scratch_bytes_ == 0 && users_.empty());
}

std::size_t Arena::rounded_up(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

std::size_t Arena::rounded_down(std::size_t bytes) {
  return bytes / kAlign * kAlign;
}

Result<ExtentId> Arena::take(std::size_t bytes) {
  SATCHEL_ASSERT(bytes > 0 && !tells_users_);
  SATCHEL_TRY(check_free(bytes));
  gather_unused(rounded_up(bytes));
  return take_unused(bytes);
}

Result<ExtentId> Arena::take_spare(std::size_t bytes) {
  SATCHEL_ASSERT(bytes > 0 && !tells_users_);
  if (rounded_up(bytes) > unused_bytes())
    return Error{ErrorKind::out_of_memory, "CACHE_FULL", "No memory is unused."};
  SATCHEL_TRY_ASSIGN(const ExtentId id, take_unused(bytes));
  mark_spare(id);
  return id;
}

void Arena::mark_spare(ExtentId id) {
  const auto at = static_cast<std::size_t>(id);
  if (spare_.size() <= at) spare_.resize(at + 1);
  spare_[at] = true;
  spare_bytes_ += bytes_of(id);
}

bool Arena::is_spare(ExtentId id) const {
  const auto at = static_cast<std::size_t>(id);
  return at < spare_.size() && spare_[at];
}

// Each user in turn gives one, so that no chat loses all of its own for another.
void Arena::gather_unused(std::size_t bytes) {
  while (unused_bytes() < bytes && far_.oldest()) drop_copy(*far_.oldest());
  while (unused_bytes() < bytes) {
    bool any = false;
    for (std::size_t i = 0; i < users_.size() && unused_bytes() < bytes; ++i)
      any = users_[i]->give_spare() || any;
    SATCHEL_ASSERT(any);  // what is spare has users, who know it
  }
}

Result<ExtentId> Arena::take_unused(std::size_t bytes) {
  std::optional<ExtentId> taken = extents_.take(rounded_up(bytes), scratch_offset());
  if (!taken) {
    SATCHEL_TRY(close_holes());
    taken = extents_.take(rounded_up(bytes), scratch_offset());
  }
  SATCHEL_ASSERT(taken);  // all that is free lies in the middle now
  peak_bytes_ = std::max(peak_bytes_, held_bytes());
  return *taken;
}

void Arena::share(ExtentId id) {
  if (is_far(id)) {
    ++far_.row(id).n_shares;
    return;
  }
  extents_.share(id);
}

void Arena::give(ExtentId id) {
  SATCHEL_ASSERT(!tells_users_);
  is_far(id) ? give_far(id) : give_near(id);
}

void Arena::give_near(ExtentId id) {
  if (is_spare(id) && n_shares(id) == 1) {
    spare_[static_cast<std::size_t>(id)] = false;
    spare_bytes_ -= bytes_of(id);
  }
  extents_.give(id);
}

std::byte* Arena::at(ExtentId id) {
  SATCHEL_ASSERT(is_here(id));
  return memory_.data() + extents_.offset(is_far(id) ? *far_.row(id).copy : id);
}

std::size_t Arena::bytes_of(ExtentId id) const {
  if (!is_far(id)) return extents_.bytes(id);
  const FarTable::Row& row = far_.row(id);
  return (row.rest ? extents_.bytes(*row.rest) : 0) +
         (row.is_settled ? 0 : extents_.bytes(*row.copy));
}

std::size_t Arena::n_shares(ExtentId id) const {
  return is_far(id) ? far_.row(id).n_shares : extents_.n_shares(id);
}

void Arena::reserve_extents(std::size_t n) {
  extents_.reserve(n);
}

Result<Arena::Lease> Arena::take_scratch(std::size_t bytes) {
  SATCHEL_ASSERT(!tells_users_);
  SATCHEL_TRY(check_free(bytes));
  const std::size_t size = rounded_up(bytes);
  gather_unused(size);
  if (size > scratch_offset() - extents_.end()) SATCHEL_TRY(close_holes());
  SATCHEL_ASSERT(size <= scratch_offset() - extents_.end());
  scratch_bytes_ += size;
  peak_bytes_ = std::max(peak_bytes_, held_bytes());
  Lease lease;
  lease.arena_ = this;
  lease.data_ = memory_.data() + scratch_offset();
  lease.bytes_ = size;
  return lease;
}

void Arena::give_scratch(const std::byte* data, std::size_t bytes) {
  SATCHEL_ASSERT(data == memory_.data() + scratch_offset());  // the newest lease
  scratch_bytes_ -= bytes;
}

// Users are told even if the backend fails half way: what lay below has moved.
Result<void> Arena::close_holes() {
  Result<void> closed = extents_.close_holes([this](const ExtentTable::Move& move) {
    return backend_->copy(memory_.data() + move.to, memory_.data() + move.from, move.bytes);
  });
  tells_users_ = true;
  for (ExtentUser* user : users_) user->extents_moved();
  tells_users_ = false;
  return closed;
}

void Arena::add_user(ExtentUser& user) {
  SATCHEL_ASSERT(!tells_users_ && std::count(users_.begin(), users_.end(), &user) == 0);
  users_.push_back(&user);
}

void Arena::remove_user(ExtentUser& user) {
  SATCHEL_ASSERT(!tells_users_);
  const std::size_t n_removed = std::erase(users_, &user);
  SATCHEL_ASSERT(n_removed == 1);
}

Result<void> Arena::set_limit(std::size_t bytes) {
  const std::size_t limit = rounded_down(bytes);
  if (limit < used_bytes())
    return Error{ErrorKind::out_of_memory,
                 "CACHE_FULL",
                 "The memory limit cannot be " + size_text(bytes) + ": " + size_text(used_bytes()) +
                     " are in use. Nothing was changed. Close a chat or choose a recipe that "
                     "keeps less, then lower the limit.",
                 {{"limit_bytes", bytes}, {"used_bytes", used_bytes()}}};
  if (limit > capacity_bytes())
    return Error{ErrorKind::invalid, "CACHE_LIMIT",
                 "The memory limit cannot be " + size_text(bytes) + ": " +
                     size_text(capacity_bytes()) +
                     " were reserved when the model was loaded. Nothing was changed. Load the "
                     "model again with the higher limit."};
  if (limit < held_bytes()) gather_unused(limit_ - limit);
  limit_ = limit;
  return {};
}

Result<void> Arena::check_free(std::size_t bytes) const {
  if (bytes <= free_bytes()) return {};  // free_bytes() is a multiple of 256: so is it rounded up
  return Error{
      ErrorKind::out_of_memory,
      "CACHE_FULL",
      "The memory limit of " + size_text(limit_) + " is reached: " + size_text(bytes) +
          " more are needed, " + size_text(free_bytes()) +
          " are free. Nothing was changed. Raise the limit, close a chat, or choose a recipe "
          "that keeps less.",
      {{"limit_bytes", limit_}, {"free_bytes", free_bytes()}, {"needed_bytes", bytes}}};
}

void Arena::check_invariants() const {
  extents_.check_invariants();
  far_.check_invariants();
  SATCHEL_ASSERT(copy_bytes_ <= spare_bytes_);
  SATCHEL_ASSERT(limit_ <= capacity_bytes() && held_bytes() <= limit_);
  SATCHEL_ASSERT(spare_bytes_ <= extents_.used_bytes());
  SATCHEL_ASSERT(extents_.end() <= scratch_offset());
  SATCHEL_ASSERT(held_bytes() <= peak_bytes_ && peak_bytes_ <= capacity_bytes());
}

}  // namespace satchel::kvcache
