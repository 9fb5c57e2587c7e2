// AlignedBuffer: move-only host memory, 64-byte aligned (one cache line, one zmm), zeroed. Failure
// is an error value.
#pragma once

#include <cstddef>
#include <cstdlib>
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
                   "The machine refused " + std::to_string(bytes) + " bytes of main memory."};
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
