// Arguments: small arrays on their way to kernels, through pinned memory, so that a call queues
// them and goes on. They lie in a ring: what put() gave is valid for the work queued until the ring
// has been filled once more, when put() waits for the stream.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "kernels/cuda/device.h"

namespace satchel::kernels::cuda {

class Arguments {
 public:
  static Result<Arguments> make(Device& device);
  std::size_t bytes() const { return ring_.size(); }

  // Device memory, [items.size()].
  template <class T>
  Result<const T*> put(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    SATCHEL_TRY_ASSIGN(const std::byte* at, put_bytes(std::as_bytes(items)));
    return reinterpret_cast<const T*>(at);
  }

 private:
  explicit Arguments(Device& device) : device_(&device) {}
  Result<const std::byte*> put_bytes(std::span<const std::byte> bytes);
  Result<void> grow(std::size_t bytes);

  struct FreeHost {
    void operator()(std::byte* at) const { cudaFreeHost(at); }
  };
  Device* device_;
  std::unique_ptr<std::byte, FreeHost> host_;
  Buffer ring_;
  std::size_t used_ = 0;
};

}  // namespace satchel::kernels::cuda
