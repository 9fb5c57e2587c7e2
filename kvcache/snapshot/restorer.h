// Restorer: verifies the blocks of one snapshot and stages them beside an empty cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {

struct StagedLane {
  std::vector<PageId> pages = {};
  std::vector<kernels::PageView> views = {};
  std::int32_t last_position = kSinkTokens - 1;  // of what has been staged behind the sinks
  std::size_t n_sinks = 0;
  std::vector<std::int32_t> tail = {};  // positions
  bool has_exact = false;
};

// One restore on its way: takes pages of the pool, which it gives back unless make_live() was
// reached.
class Restorer {
 public:
  Restorer(CacheState& cache, const SnapshotIdentity& identity, const Manifest& manifest)
      : cache_(cache),
        identity_(identity),
        manifest_(manifest),
        identity_hash_(hash_identity(identity.model, identity.recipe)),
        lanes_(cache.lanes.size()) {}
  ~Restorer() {
    for (auto page = taken_.rbegin(); page != taken_.rend(); ++page) cache_.pool.give_page(*page);
  }
  Restorer(Restorer&&) = delete;

  // corrupt: what is wrong with the block. Others: the backend's.
  Result<void> add(const BlockEntry& entry, std::span<const std::byte> bytes);
  Result<void> check_whole() const;
  Result<void> make_live();
  StoredSnapshot stored() && { return std::move(stored_); }

 private:
  Result<void> check_header(const BlockHeader& header, const BlockEntry& entry);
  Result<void> add_pages(const BlockView& block, const BlockEntry& entry);
  Result<void> add_page(std::size_t lane, std::span<const std::byte> bytes);
  Result<void> add_exact(const BlockView& block);
  Result<void> add_exact_lane(const ExactSegment& segment, ByteReader& reader);
  Result<void> upload_exact(const ExactBlock& to, std::size_t n_tokens,
                            std::span<const std::byte> values,
                            std::span<const std::int32_t> positions);
  Result<void> check_rising(std::size_t lane, std::span<const std::int32_t> positions);

  CacheState& cache_;
  const SnapshotIdentity& identity_;
  const Manifest& manifest_;
  Hash128 identity_hash_;
  std::vector<StagedLane> lanes_;
  std::vector<PageId> taken_ = {};
  StoredSnapshot stored_ = {};
  std::uint64_t prefix_known_ = 0;  // the last prefix hashed: blocks of one save share it
  Hash128 prefix_hash_ = hash_tokens({});
};

}  // namespace satchel::kvcache
