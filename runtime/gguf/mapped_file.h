// MappedFile: a regular file mapped read-only and excluded from core dumps.
//   owns    the mapping; the bytes keep their address when the object moves
//   errors  MODEL_NOT_FOUND, MODEL_READ (permission, folder, device), MODEL_CHANGED
//   limits  if another process truncates the mapped file, the next access faults (SIGBUS);
//           check_unchanged() detects this earlier, except in a race
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

  // Fails if size or modification time differ from those at opening. An object without a file is
  // unchanged.
  Result<void> check_unchanged() const;

  // Drops the whole pages inside `bytes` from resident memory; the next access reads the file
  // again. Ignores bytes outside the mapping.
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
