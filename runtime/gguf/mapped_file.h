// MappedFile: a regular file's bytes, mapped read-only and left out of core dumps.
//   owns    the mapping; the bytes stay at one address when the object moves
//   errors  MODEL_NOT_FOUND, MODEL_READ (permission, folder, device), MODEL_CHANGED
//   differs a file cut short by someone else while it is mapped faults on the next touch (SIGBUS);
//           check_unchanged() finds it before that in all but a race
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

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

  // Whether size and time of change are still those seen at opening. An object without a file is
  // unchanged.
  Result<void> check_unchanged() const;

  // Takes the whole pages inside `bytes` out of this process's resident memory; touching them
  // reads the file again. Bytes outside the mapping are left alone.
  void let_go(std::span<const std::byte> bytes) const;

 private:
  struct Stamp {
    std::uint64_t size = 0;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Result<Stamp> stamp_of(int descriptor);

  int descriptor_ = -1;
  Stamp stamp_;
  std::span<const std::byte> bytes_;
};

}  // namespace satchel::runtime
