// FarStore: where an arena's far extents lie: a stretch of bytes that is larger than the memory
// limit, slower, and empty when it is opened. Storage implements it over a file without a name.
//   needs    a read only of bytes that were written, in one piece, at that offset
//   errors   storage; a write that failed may be tried again. What was written before it is there
//   threads  reads from several at a time; a write alone
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels/base/result.h"

namespace satchel::kvcache {

class FarStore {
 public:
  virtual ~FarStore() = default;
  virtual Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> bytes) = 0;
};

// Each arena has one of its own.
using OpenFarStore = std::function<Result<std::unique_ptr<FarStore>>()>;

}  // namespace satchel::kvcache
