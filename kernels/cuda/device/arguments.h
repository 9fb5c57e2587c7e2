// Arguments: sends small arrays to kernels through pinned memory, so that a call only queues them.
// Arrays are allocated one after the other, restarting at each wait for the stream, which also ends
// a step. So a step with the same sizes as the last finds them at the same addresses, no place is
// used twice in a step, and its graph copies them all at once (queue.h). The result of put() is
// valid for work queued until the next wait; put() waits if the memory is full.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "kernels/base/released_by.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {

class Arguments {
 public:
  static Result<Arguments> make(Device& device);
  std::size_t bytes() const { return ring_.size(); }

  // Copies arrays to device memory; they stay there until work queued with them is done.
  template <class... T>
  Result<std::tuple<const T*...>> put(std::span<const T>... arrays) {
    static_assert((std::is_trivially_copyable_v<T> && ...));
    SATCHEL_TRY(reserve((padded256(arrays.size_bytes()) + ...)));
    std::tuple<const T*...> there;
    Result<void> sent;
    const auto send = [&](const auto array, auto*& at) {
      if (!sent.ok()) return;
      at = reinterpret_cast<std::remove_reference_t<decltype(at)>>(ring_.data() + used_);
      (void)(sent = send_bytes(std::as_bytes(array)));  // else nvcc warns of a discarded result
    };
    std::apply([&](auto*&... at) { (send(arrays, at), ...); }, there);
    SATCHEL_TRY(sent);
    return there;
  }

  // Copies bytes to the caller's device memory; they have been read when it returns. The target
  // address is sent along with them, so that steps which append to a growing array match (queue.h).
  Result<void> send(std::byte* to, std::span<const std::byte> bytes);

 private:
  explicit Arguments(Device& device) : device_(&device) {}
  Result<void> reserve(std::size_t bytes);
  Result<void> send_bytes(std::span<const std::byte> bytes);
  Result<void> grow(std::size_t bytes);

  using HostMemory = std::unique_ptr<std::byte, ReleasedBy<&cudaFreeHost>>;

  Device* device_;
  HostMemory host_;
  Buffer ring_;
  std::vector<std::byte> parcel_;       // of send()
  std::size_t used_ = 0, of_wait_ = 0;  // of_wait_: Device::n_waits() at the last use
};

}  // namespace satchel::kernels::cuda
