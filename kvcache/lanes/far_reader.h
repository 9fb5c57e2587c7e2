// FarReader: reads stretches of a far store and verifies each, on the caller's thread and on one of
// its own at once: what the system holds of the file already is copied and hashed, which is what
// two threads do in half the time.
//   threads  one call at a time
//   cost     a call uses no heap
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>

#include "kvcache/base/hash.h"
#include "kvcache/lanes/far_store.h"

namespace satchel::kvcache {

struct FarRead {
  std::uint64_t offset = 0;
  std::span<std::byte> bytes = {};
  Hash128 hash = {};  // of what was written
};

class FarReader {
 public:
  FarReader();
  ~FarReader();
  FarReader(const FarReader&) = delete;

  // All of them, in any order. After an error some may not have been read. FAR_DAMAGED (corrupt):
  // one was not what was written; else the store's.
  Result<void> read(FarStore& store, std::span<const FarRead> reads);

 private:
  Result<void> read_some();  // until all are taken, or one fails
  void help();

  FarStore* store_ = nullptr;
  std::span<const FarRead> reads_ = {};
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_wanted_ = false, is_helping_ = false, ends_ = false;  // under mutex_ …
  Result<void> helped_ = {};                                    // … and this
  std::thread thread_;                                          // last: it uses what is above
};

}  // namespace satchel::kvcache
