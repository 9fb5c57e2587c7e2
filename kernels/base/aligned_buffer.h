// AlignedBuffer: move-only host memory, 64-byte aligned (one cache line, one zmm), zeroed. Failure
// is an error value.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/base/result.h"
#include "kernels/base/zeroed_memory.h"

namespace satchel {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  static Result<AlignedBuffer> make(std::size_t bytes) {
    void* memory = zeroed_memory(64, bytes);
    if (memory == nullptr)
      return Error{ErrorKind::out_of_memory, "MEMORY",
                   "The system could not allocate " + std::to_string(bytes) +
                       " bytes of main memory. Close other programs, or choose a smaller limit."};
    AlignedBuffer out;
    out.memory_ = {static_cast<std::byte*>(memory), FreeZeroed{bytes}};
    out.bytes_ = bytes;
    return out;
  }

  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  std::unique_ptr<std::byte, FreeZeroed> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace satchel
