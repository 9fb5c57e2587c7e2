// FarTable: the far extents of an arena: where each lies in the far store, its checksum, what of it
// is in memory, and which of those copies go first. It manages rows only, no bytes.
//   states      held (in memory only) -> settled -> with a copy <-> without one
//   invariants  1 the list is of settled rows that have a copy and are not in use, oldest first
//               2 a row that is held has a copy
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kvcache/base/hash.h"
#include "kvcache/lanes/extent_table.h"

namespace satchel::kvcache {

class FarTable {
 public:
  using Index = std::uint32_t;
  struct Row {
    std::size_t bytes = 0;
    ExtentId slot = {};                 // of the store
    std::optional<ExtentId> copy = {};  // all of its bytes
    std::optional<ExtentId> rest = {};  // the last n_rest of them, which stay in memory
    std::size_t n_rest = 0;
    Hash128 hash = {};
    std::uint32_t n_shares = 0;  // 0: the row is not in use
    bool is_settled = false, is_listed = false;
    Index older = kNone, newer = kNone;
  };

  static bool is_far(ExtentId id) { return (static_cast<Index>(id) & kFarBit) != 0; }
  ExtentId add(const Row& row);  // with one share, and a slot of the store
  Row& row(ExtentId id);
  const Row& row(ExtentId id) const;
  std::uint64_t offset(const Row& row) const { return slots_.offset(row.slot); }
  // With its last share the row goes; the caller has given what it has in memory.
  void remove(ExtentId id);

  void list(ExtentId id);    // as the newest
  void delist(ExtentId id);  // of one that is not listed: nothing
  std::optional<ExtentId> oldest() const { return listed(oldest_); }
  std::optional<ExtentId> newest() const { return listed(newest_); }

  std::size_t bytes() const { return slots_.used_bytes(); }  // of the store
  std::size_t end() const { return slots_.end(); }
  void check_invariants() const;  // asserts; O(rows)

 private:
  static constexpr Index kNone = ~Index{0}, kFarBit = Index{1} << 31;
  static Index index(ExtentId id) { return static_cast<Index>(id) & ~kFarBit; }
  static std::optional<ExtentId> listed(Index at);

  std::vector<Row> rows_;
  std::vector<Index> unused_;
  ExtentTable slots_;
  Index oldest_ = kNone, newest_ = kNone;
};

}  // namespace satchel::kvcache
