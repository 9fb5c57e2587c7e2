// Far extents: written away when they are whole, read again when they are asked for.
#include <utility>

#include "kernels/base/size_text.h"
#include "kvcache/lanes/arena.h"

namespace satchel::kvcache {

void Arena::set_far(std::unique_ptr<FarStore> store) {
  SATCHEL_ASSERT(store != nullptr && held_bytes() == 0);
  far_store_ = std::move(store);
  reader_ = std::make_unique<FarReader>();
}

std::size_t Arena::far_bytes(std::size_t bytes, std::size_t n_rest) {
  return rounded_up(bytes) + rounded_up(n_rest);
}

Result<ExtentId> Arena::take_far(std::size_t bytes, std::size_t n_rest) {
  SATCHEL_ASSERT(has_far() && n_rest < bytes);
  SATCHEL_TRY(check_free(far_bytes(bytes, n_rest)));
  FarTable::Row row{.bytes = bytes, .n_rest = n_rest};
  SATCHEL_TRY_ASSIGN(row.copy, take(bytes));
  if (n_rest > 0) {
    Result<ExtentId> rest = take(n_rest);
    if (!rest.ok()) {
      give(*row.copy);
      return rest.error();
    }
    row.rest = *rest;
  }
  return far_.add(row);
}

void Arena::give_far(ExtentId id) {
  FarTable::Row& row = far_.row(id);
  if (--row.n_shares > 0) return;
  row.n_shares = 1;
  far_.delist(id);
  if (row.copy) {
    if (row.is_settled) copy_bytes_ -= extents_.bytes(*row.copy);
    give_near(*row.copy);
  }
  if (row.rest) give_near(*row.rest);
  far_.remove(id);
}

Result<void> Arena::settle(ExtentId id) {
  if (!is_far(id) || far_.row(id).is_settled) return {};
  FarTable::Row& row = far_.row(id);
  const std::span<const std::byte> bytes(at(id), row.bytes);
  SATCHEL_TRY(far_store_->write(far_.offset(row), bytes));
  if (row.rest)
    SATCHEL_TRY(backend_->copy(rest_at(id), at(id) + row.bytes - row.n_rest, row.n_rest));
  row.hash = hash_bytes(bytes);
  row.is_settled = true;
  keep_copy(id, *row.copy);
  far_.list(id);
  return {};
}

bool Arena::is_here(ExtentId id) const {
  return !is_far(id) || far_.row(id).copy.has_value();
}

std::byte* Arena::rest_at(ExtentId id) {
  return at(*far_.row(id).rest);
}

std::size_t Arena::far_size(ExtentId id) const {
  return far_.row(id).bytes;
}

// From now on it counts as free.
void Arena::keep_copy(ExtentId id, ExtentId copy) {
  far_.row(id).copy = copy;
  copy_bytes_ += extents_.bytes(copy);
  mark_spare(copy);
}

void Arena::drop_copy(ExtentId id) {
  far_.delist(id);
  const ExtentId copy = *std::exchange(far_.row(id).copy, std::nullopt);
  copy_bytes_ -= extents_.bytes(copy);
  give_near(copy);
}

// While they are not in the list, nothing that is taken for one makes another go.
Result<void> Arena::fetch(std::span<const ExtentId> ids, Goes first_to_go) {
  SATCHEL_ASSERT(!tells_users_);
  missing_.clear();
  for (const ExtentId id : ids)
    if (is_far(id)) far_.delist(id);
  Result<void> fetched = take_copies(ids, first_to_go);
  if (fetched.ok()) fetched = read_copies();
  for (const ExtentId id : missing_)
    if (!fetched.ok()) drop_copy(id);
  for (const ExtentId id : ids)
    if (is_far(id) && is_here(id) && far_.row(id).is_settled && !far_.row(id).is_listed)
      far_.list(id);
  return fetched;
}

Result<void> Arena::take_copies(std::span<const ExtentId> ids, Goes first_to_go) {
  for (const ExtentId id : ids) {
    if (is_here(id)) continue;
    const std::size_t bytes = far_.row(id).bytes;
    SATCHEL_TRY(make_unused(rounded_up(bytes), first_to_go));
    SATCHEL_TRY_ASSIGN(const ExtentId copy, take_unused(bytes));
    keep_copy(id, copy);
    missing_.push_back(id);
  }
  return {};
}

Result<void> Arena::make_unused(std::size_t bytes, Goes first_to_go) {
  while (unused_bytes() < bytes) {
    const auto goes = first_to_go == Goes::oldest ? far_.oldest() : far_.newest();
    if (!goes) break;
    drop_copy(*goes);
  }
  for (ExtentUser* user : users_)
    while (unused_bytes() < bytes && user->give_spare()) {
    }
  if (unused_bytes() >= bytes) return {};
  return Error{ErrorKind::out_of_memory,
               "CACHE_FULL",
               "The memory limit of " + size_text(limit_) +
                   " has no room for what one layer reads at a time: its pages come back from disk "
                   "together. Nothing was lost. Raise the limit, or close other chats.",
               {{"limit_bytes", limit_}, {"free_bytes", unused_bytes()}, {"needed_bytes", bytes}}};
}

Result<void> Arena::read_copies() {
  if (missing_.empty()) return {};
  reads_.clear();
  for (const ExtentId id : missing_) {
    const FarTable::Row& row = far_.row(id);
    reads_.push_back({.offset = far_.offset(row), .bytes = {at(id), row.bytes}, .hash = row.hash});
  }
  return reader_->read(*far_store_, reads_);
}

}  // namespace satchel::kvcache
