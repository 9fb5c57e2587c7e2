// FarFile: a far store in a file without a name, in a folder that is there.
//   errors   READ_ONLY, DISK_FULL, STORAGE; FAR_READ: the file gave less than was written
#pragma once

#include <filesystem>

#include "kvcache/lanes/far_store.h"

namespace satchel::storage {

class FarFile final : public kvcache::FarStore {
 public:
  static Result<std::unique_ptr<FarFile>> open(const std::filesystem::path& folder);
  ~FarFile() override;
  FarFile(const FarFile&) = delete;

  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Result<void> read(std::uint64_t offset, std::span<std::byte> bytes) override;
  int descriptor() const { return descriptor_; }

 private:
  FarFile(int descriptor, std::filesystem::path folder)
      : descriptor_(descriptor), folder_(std::move(folder)) {}
  int descriptor_;
  std::filesystem::path folder_;
};

}  // namespace satchel::storage
