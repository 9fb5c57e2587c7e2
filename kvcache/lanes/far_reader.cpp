#include "kvcache/lanes/far_reader.h"

namespace satchel::kvcache {

FarReader::FarReader() : thread_([this] { help(); }) {}

FarReader::~FarReader() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<void> FarReader::read(FarStore& store, std::span<const FarRead> reads) {
  store_ = &store;
  reads_ = reads;
  next_ = 0;
  if (reads.size() < 2) return read_some();
  {
    const std::lock_guard lock(mutex_);
    is_wanted_ = true;
    helped_ = {};
  }
  changed_.notify_all();
  const Result<void> mine = read_some();
  std::unique_lock lock(mutex_);
  is_wanted_ = false;  // where it has not begun yet nothing is left for it
  changed_.wait(lock, [this] { return !is_helping_; });
  return mine.ok() ? helped_ : mine;
}

Result<void> FarReader::read_some() {
  for (std::size_t i = next_++; i < reads_.size(); i = next_++) {
    const FarRead& read = reads_[i];
    Result<void> done = store_->read(read.offset, read.bytes);
    if (done.ok() && hash_bytes(read.bytes) != read.hash)
      done = Error{ErrorKind::corrupt, "FAR_DAMAGED",
                   "A part of the chat's memory came back from disk changed, so it was not used. "
                   "What was said is saved. Try again; if it happens again, open the chat again, "
                   "and check the disk."};
    if (done.ok()) continue;
    next_ = reads_.size();
    return done;
  }
  return {};
}

void FarReader::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_wanted_ || ends_; });
    if (ends_) return;
    is_wanted_ = false;
    is_helping_ = true;
    lock.unlock();
    Result<void> done;
    try {
      done = read_some();
    } catch (...) {  // nothing may pass a thread's top; memory ends here at most
      next_ = reads_.size();
      done = Error{ErrorKind::out_of_memory, "MEMORY", "Memory ran out while a chat was read."};
    }
    lock.lock();
    helped_ = std::move(done);
    is_helping_ = false;
    changed_.notify_all();
  }
}

}  // namespace satchel::kvcache
