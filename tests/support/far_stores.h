// Far stores without a disk: in memory, and failing as told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "kvcache/lanes/far_store.h"

namespace satchel::test {

// What tests look at and set while an arena owns the store.
struct FarDisk {
  std::mutex mutex = {};
  std::vector<std::byte> bytes = {};
  std::size_t n_reads = 0, n_writes = 0;
  std::optional<std::size_t> fail_read = {}, fail_write = {};  // the n-th from now, once
  bool flips_read = false;  // fail_read: a byte comes back changed, without an error
};

class MemoryFarStore final : public kvcache::FarStore {
 public:
  explicit MemoryFarStore(std::shared_ptr<FarDisk> disk) : disk_(std::move(disk)) {}

  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    ++disk_->n_writes;
    if (is_due(disk_->fail_write)) return Error{ErrorKind::storage, "DISK_FULL", "No space."};
    disk_->bytes.resize(std::max<std::size_t>(disk_->bytes.size(), offset + bytes.size()));
    std::ranges::copy(bytes, disk_->bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Result<void> read(std::uint64_t offset, std::span<std::byte> bytes) override {
    const std::lock_guard lock(disk_->mutex);
    ++disk_->n_reads;
    const bool fails = is_due(disk_->fail_read);
    if (fails && !disk_->flips_read) return Error{ErrorKind::storage, "FAR_READ", "No such block."};
    if (offset + bytes.size() > disk_->bytes.size())
      return Error{ErrorKind::storage, "FAR_READ", "Never written."};
    std::copy_n(disk_->bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(),
                bytes.begin());
    if (fails) bytes[bytes.size() / 2] ^= std::byte{16};
    return {};
  }

 private:
  static bool is_due(std::optional<std::size_t>& in) {
    if (!in) return false;
    if ((*in)-- > 0) return false;
    in.reset();
    return true;
  }
  std::shared_ptr<FarDisk> disk_;
};

}  // namespace satchel::test
