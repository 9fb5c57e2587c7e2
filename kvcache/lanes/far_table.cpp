#include "kvcache/lanes/far_table.h"

#include <limits>

namespace satchel::kvcache {

ExtentId FarTable::add(const Row& row) {
  Index at = static_cast<Index>(rows_.size());
  if (unused_.empty()) {
    SATCHEL_ASSERT(at < kFarBit - 1);
    rows_.emplace_back();
  } else {
    at = unused_.back();
    unused_.pop_back();
  }
  rows_[at] = row;
  rows_[at].slot = *slots_.take(row.bytes, std::numeric_limits<std::size_t>::max());
  rows_[at].n_shares = 1;
  return ExtentId{at | kFarBit};
}

FarTable::Row& FarTable::row(ExtentId id) {
  SATCHEL_ASSERT(is_far(id) && index(id) < rows_.size() && rows_[index(id)].n_shares > 0);
  return rows_[index(id)];
}

const FarTable::Row& FarTable::row(ExtentId id) const {
  SATCHEL_ASSERT(is_far(id) && index(id) < rows_.size() && rows_[index(id)].n_shares > 0);
  return rows_[index(id)];
}

void FarTable::remove(ExtentId id) {
  delist(id);
  slots_.give(row(id).slot);
  rows_[index(id)] = {};
  unused_.push_back(index(id));
}

void FarTable::list(ExtentId id) {
  Row& added = row(id);
  SATCHEL_ASSERT(added.is_settled && added.copy && !added.is_listed);
  added.is_listed = true;
  added.older = newest_;
  added.newer = kNone;
  (newest_ == kNone ? oldest_ : rows_[newest_].newer) = index(id);
  newest_ = index(id);
}

void FarTable::delist(ExtentId id) {
  Row& gone = row(id);
  if (!gone.is_listed) return;
  (gone.older == kNone ? oldest_ : rows_[gone.older].newer) = gone.newer;
  (gone.newer == kNone ? newest_ : rows_[gone.newer].older) = gone.older;
  gone.is_listed = false;
}

std::optional<ExtentId> FarTable::listed(Index at) {
  return at == kNone ? std::nullopt : std::optional(ExtentId{at | kFarBit});
}

void FarTable::check_invariants() const {
  slots_.check_invariants();
  std::size_t n_listed = 0, n_in_list = 0;
  for (const Row& row : rows_) {
    n_listed += row.is_listed ? 1u : 0u;
    SATCHEL_ASSERT(!row.is_listed || (row.is_settled && row.copy && row.n_shares > 0));
    SATCHEL_ASSERT(row.n_shares == 0 || row.is_settled || row.copy);
  }
  for (Index at = oldest_, before = kNone; at != kNone; before = at, at = rows_[at].newer) {
    SATCHEL_ASSERT(rows_[at].is_listed && rows_[at].older == before);
    ++n_in_list;
  }
  SATCHEL_ASSERT(n_listed == n_in_list);
}

}  // namespace satchel::kvcache
