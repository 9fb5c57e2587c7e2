// MappedFile: a regular file mapped read-only and excluded from core dumps.
//   owns    the mapping; the bytes keep their address when the object moves
//   errors  MODEL_NOT_FOUND, MODEL_READ (permission, folder, device, disk), MODEL_CHANGED
//   limits  if another process truncates the mapped file, the next access faults (SIGBUS). Programs
//           that guard_mappings() read zeros instead, and check_unchanged() fails from then on
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>

#include "kernels/base/result.h"

namespace satchel::runtime {

class MappedFile {
 public:
  MappedFile() = default;
  static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

  // Fails if the file was written since opening, whatever its time of modification says, or could
  // not be read. Other rights and one name in the place of another cannot be told from that. A file
  // that has more names than at the last check (import_model) or fewer, or was deleted or replaced
  // under its name, keeps its bytes and is unchanged, as is an object without a file; only a write
  // since that check that sets the time back is missed then. Any thread. Costs a system call.
  Result<void> check_unchanged() const;

  // Drops the whole pages inside `bytes` from resident memory; the next access reads the file
  // again. Ignores bytes outside the mapping.
  void let_go(std::span<const std::byte> bytes) const;

 private:
  struct Stamp {
    std::uint64_t size = 0;
    std::int64_t written_s = 0, written_ns = 0;  // which programs can set back
    std::int64_t changed_s = 0, changed_ns = 0;  // which they cannot; a name that comes counts, too
    std::uint64_t n_names = 0;
    bool is_written(const Stamp& now) const;
  };
  static Result<Stamp> stamp_of(int descriptor);

  std::string name_;
  int descriptor_ = -1;
  mutable std::mutex checks_;
  mutable Stamp stamp_;  // of the last check, or of opening
  std::span<const std::byte> bytes_;
};

}  // namespace satchel::runtime
