// FetchedRecords: the records of one snapshot in their order, read and verified ahead of who uses
// them. One thread reads without pause, so that the disk never waits; one verifies and decodes; the
// caller takes what is ready, and puts it together.
//   needs   store, key and entries that outlive it
//   threads calls the store from a thread of its own for as long as it lives: the caller must not.
//           What there are no threads for is done in next()
//   memory  kSlots records, each up to its size more where it is tight
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "kvcache/snapshot/manifest.h"
#include "kvcache/snapshot/record.h"
#include "kvcache/snapshot/record_store.h"

namespace satchel::kvcache {

class FetchedRecords {
 public:
  FetchedRecords(RecordStore& store, const CacheKey& key, std::span<const RecordEntry> entries);
  ~FetchedRecords();
  FetchedRecords(FetchedRecords&&) = delete;

  // The next of the entries' records, opened (open_record()), valid until the following call;
  // corrupt: it is missing or damaged. Null after the last.
  //   errors  of the store, other than that the record is missing or damaged
  Result<const Result<Record>*> next();
  std::size_t n_bytes() const;  // as stored, of the record that next() gave

 private:
  static constexpr std::size_t kSlots = 3;  // one is read, one decoded, one used
  struct Slot {
    std::vector<std::byte> bytes = {};
    RecordCapacity capacity = {};
    std::optional<Error> failure = {};
    std::exception_ptr thrown = {};
    std::optional<Result<Record>> record = {};  // of the bytes and the capacity
    bool is_ready = false;
  };

  void read_all();
  void decode_all();
  bool start(void (FetchedRecords::*work)());
  void read(std::size_t index);
  void decode(std::size_t index);
  Slot& slot(std::size_t index) { return slots_[index % kSlots]; }

  RecordStore& store_;
  const StreamCoder* const coder_;  // taken before a thread uses the store
  const CacheKey& key_;
  const std::span<const RecordEntry> entries_;
  std::array<Slot, kSlots> slots_;
  std::size_t n_given_ = 0;  // by next()
  std::mutex mutex_;         // of the following, and of Slot::is_ready
  std::condition_variable changed_;
  std::size_t n_read_ = 0, n_released_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
  bool reads_ahead_ = false, decodes_ahead_ = false;
};

}  // namespace satchel::kvcache
