// Restorer: verifies the records of one snapshot and stages them beside an empty cache.
//   steps   prepare -> add, or lose, for each record that it does not know -> check_pages ->
//           n_whole() tells how far what is there reaches -> make_live
//   known   a record whose pages another cache holds, all that are wanted: a record's checksum
//           tells what is in it
//   owns    what it stages; gives it back unless make_live() was reached
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kvcache/snapshot/record.h"
#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {

class Restorer {
 public:
  // beside  outlives it
  Restorer(CacheState& cache, Manifest& manifest, std::span<const SavedBeside> beside);
  ~Restorer();
  Restorer(Restorer&&) = delete;

  // The table against the cache: corrupt where it cannot be, out_of_memory where it does not fit.
  Result<void> prepare();
  // After prepare(). A record that is known need not be read: add_known() in place of add().
  bool knows(const RecordEntry& entry) const { return known_.contains(entry.id); }
  void add_known(const RecordEntry& entry);
  // corrupt: what is wrong with the record, and nothing of it is used. Others: the backend's.
  Result<void> add(const RecordEntry& entry, const Record& record);
  // corrupt: pages contradict the table, or each other.
  Result<void> check_pages();
  // The first position that some lane has lost with a record, or before it the last that recurrent
  // layers have states of; n_tokens: none is lost.
  std::size_t n_whole() const;
  // Lane-tokens of pages that came in thinned records.
  std::size_t n_thinned() const { return n_thinned_; }
  std::size_t bytes_shared() const { return bytes_shared_; }
  // Whether some states that there is memory for did not come with any record.
  bool lacks_states() const { return !cache_.states.all_are_here(); }
  // The cache then has n_tokens() of the manifest, but for what is lost.
  Result<void> make_live();
  StoredSnapshot stored() && { return std::move(stored_); }

 private:
  struct Page {  // one serial
    std::uint32_t lane = 0;
    const kernels::PageLayout* layout = nullptr;
    std::uint16_t n_tokens = 0;
    std::uint8_t tier = 0;
    kernels::LiveMask live = {};  // of all of them
    bool is_here = false;
    bool is_shared = false;  // it came from another cache, not from a record
    ExtentId extent = {};
  };
  struct StagedLane {
    bool has_sinks = false, has_tail = false;
    std::vector<PageRecord> pages = {};
  };

  Result<void> index_pages();
  Result<void> index_page(std::uint32_t lane, const StoredPage& stored);
  void share_pages(const SavedBeside& other);
  bool share_page(std::uint64_t serial, std::size_t lane, const PageRecord& held);
  void keep_record(StoredRecord record, std::span<const std::uint64_t> serials);
  Result<void> take_memory();
  std::size_t bytes_needed() const;
  std::size_t far_bytes_needed() const;
  Result<void> add_item(RecordKind kind, const RecordItem& item, std::span<const std::byte> values);
  Result<void> add_page(const RecordItem& item, std::span<const std::byte> bytes);
  Result<void> add_exact(RecordKind kind, const RecordItem& item, std::span<const std::byte> bytes);
  Result<void> add_scores(const RecordItem& item, std::span<const std::byte> bytes);
  Result<void> add_states(const RecordItem& item, std::span<const std::byte> bytes);
  void undo(RecordKind kind, std::span<const RecordItem> items);
  Result<void> check_page(std::uint32_t lane, const StoredPage& stored);
  Result<void> check_distinct(std::uint32_t lane);
  std::size_t scores_lost_at(std::size_t chunk) const;
  bool has_scores(std::size_t chunk) const;

  CacheState& cache_;
  Manifest& manifest_;
  const std::span<const SavedBeside> beside_;
  std::vector<StagedLane> lanes_;
  Scratch item_ = {};
  std::unordered_map<std::uint64_t, Page> pages_ = {};
  std::vector<std::vector<bool>> scores_;       // [chunks][lanes]: whether they are here
  std::vector<std::size_t> tails_before_ = {};  // tail_kept of each lane
  std::unordered_map<RecordId, StoredRecord> known_ = {};
  std::size_t n_thinned_ = 0, bytes_shared_ = 0;
  bool is_live_ = false;
  StoredSnapshot stored_ = {};
};

}  // namespace satchel::kvcache
