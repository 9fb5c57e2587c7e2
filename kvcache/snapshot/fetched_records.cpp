#include "kvcache/snapshot/fetched_records.h"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace satchel::kvcache {
namespace {

Result<Record> verified(std::span<const std::byte> bytes, std::size_t n_expected,
                        const StreamCoder* coder, RecordCapacity& capacity) {
  if (bytes.size() != n_expected)
    return damaged("it has " + std::to_string(bytes.size()) + " of " + std::to_string(n_expected) +
                   " bytes");
  return open_record(bytes, coder, capacity);
}

}  // namespace

FetchedRecords::FetchedRecords(RecordStore& store, const CacheKey& key,
                               std::span<const RecordEntry> entries)
    : store_(store), coder_(store.coder()), key_(key), entries_(entries) {
  std::size_t largest = 0;
  for (const RecordEntry& entry : entries) largest = std::max<std::size_t>(largest, entry.n_bytes);
  for (Slot& slot : slots_) slot.bytes.reserve(std::min(largest, kRecordBytesMax));
  threads_.reserve(2);
  reads_ahead_ = start(&FetchedRecords::read_all);
  decodes_ahead_ = reads_ahead_ && start(&FetchedRecords::decode_all);
}

FetchedRecords::~FetchedRecords() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Nothing may go out of here while a thread runs: it ends with the destructor only.
bool FetchedRecords::start(void (FetchedRecords::*work)()) {
  try {
    threads_.emplace_back(work, this);
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void FetchedRecords::read_all() {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    changed_.wait(lock, [&] { return stops_ || i < n_released_ + kSlots; });
    if (stops_) return;
    lock.unlock();
    read(i);
    lock.lock();
    ++n_read_;
    changed_.notify_all();
  }
}

void FetchedRecords::decode_all() {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    changed_.wait(lock, [&] { return stops_ || i < n_read_; });
    if (stops_) return;
    lock.unlock();
    decode(i);
    lock.lock();
    slot(i).is_ready = true;
    changed_.notify_all();
  }
}

// What is thrown where memory runs out, next() throws where it can be caught.
void FetchedRecords::read(std::size_t index) {
  Slot& into = slot(index);
  into.failure.reset();
  into.thrown = nullptr;
  into.record.reset();
  into.is_ready = false;
  try {
    const Result<void> read = store_.record_into(key_, entries_[index].id, into.bytes);
    if (read.ok()) return;
    const bool is_gone =
        read.error().kind == ErrorKind::not_found || read.error().kind == ErrorKind::corrupt;
    if (is_gone)
      into.record = damaged("it is missing");
    else
      into.failure = read.error();
  } catch (...) {
    into.thrown = std::current_exception();
  }
}

void FetchedRecords::decode(std::size_t index) {
  Slot& here = slot(index);
  if (here.record || here.failure || here.thrown) return;
  try {
    here.record = verified(here.bytes, entries_[index].n_bytes, coder_, here.capacity);
  } catch (...) {
    here.thrown = std::current_exception();
  }
}

Result<const Result<Record>*> FetchedRecords::next() {
  const std::size_t index = n_given_;
  if (index == entries_.size()) return nullptr;
  ++n_given_;
  Slot& here = slot(index);
  if (reads_ahead_) {
    std::unique_lock lock(mutex_);
    n_released_ = index;
    changed_.notify_all();
    // Until it is read the slot says what was so of the record before.
    changed_.wait(lock, [&] { return n_read_ > index && (here.is_ready || !decodes_ahead_); });
  } else {
    read(index);
  }
  if (!decodes_ahead_) decode(index);
  if (here.thrown) std::rethrow_exception(here.thrown);
  if (here.failure) return *here.failure;
  return &*here.record;
}

std::size_t FetchedRecords::n_bytes() const {
  return n_given_ == 0 ? 0 : slots_[(n_given_ - 1) % kSlots].bytes.size();
}

}  // namespace satchel::kvcache
