// AlignedBuffer: move-only host memory, 64-byte aligned (one cache line, one zmm), zeroed. Failure
// is an error value.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/base/result.h"

namespace satchel {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  static Result<AlignedBuffer> make(std::size_t bytes) {
    constexpr std::size_t kAlign = 64;
    const std::size_t rounded = (bytes + kAlign - 1) / kAlign * kAlign;
    void* memory =
        rounded < bytes ? nullptr : std::aligned_alloc(kAlign, rounded == 0 ? kAlign : rounded);
    if (memory == nullptr)
      return Error{ErrorKind::out_of_memory, "MEMORY",
                   "The machine refused " + std::to_string(bytes) + " bytes of main memory."};
    std::memset(memory, 0, rounded);
    AlignedBuffer out;
    out.memory_.reset(static_cast<std::byte*>(memory));
    out.bytes_ = bytes;
    return out;
  }

  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace satchel
