// Arguments: small arrays on their way to kernels, through pinned memory, so that a call queues
// them and goes on. They lie one after the other from where the stream was last waited for: a step
// that puts as much as the one before finds it at the same places (queue.h). What put() gave is
// valid for work queued until the next wait; where there is no more room put() waits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "kernels/cuda/counts.h"
#include "kernels/cuda/device.h"

namespace satchel::kernels::cuda {

class Arguments {
 public:
  static Result<Arguments> make(Device& device);
  std::size_t bytes() const { return ring_.size(); }

  // Device memory, [array.size()] each; those of one call stay until its work is done.
  template <class... T>
  Result<std::tuple<const T*...>> put(std::span<const T>... arrays) {
    static_assert((std::is_trivially_copyable_v<T> && ...));
    SATCHEL_TRY(make_room((padded256(arrays.size_bytes()) + ...)));
    std::tuple<const T*...> there;
    Result<void> sent;
    const auto send = [&](const auto array, auto*& at) {
      if (!sent.ok()) return;
      at = reinterpret_cast<std::remove_reference_t<decltype(at)>>(ring_.data() + used_);
      (void)(sent = send_bytes(std::as_bytes(array)));  // nvcc takes = for what is discarded
    };
    std::apply([&](auto*&... at) { (send(arrays, at), ...); }, there);
    SATCHEL_TRY(sent);
    return there;
  }

  // To memory of the caller's; the bytes have been read when it returns. Where they go is put with
  // them, so that steps which append to what grows are alike (queue.h).
  Result<void> send(std::byte* to, std::span<const std::byte> bytes);

 private:
  explicit Arguments(Device& device) : device_(&device) {}
  Result<void> make_room(std::size_t bytes);
  Result<void> send_bytes(std::span<const std::byte> bytes);
  Result<void> grow(std::size_t bytes);

  struct FreeHost {
    void operator()(std::byte* at) const { cudaFreeHost(at); }
  };
  Device* device_;
  std::unique_ptr<std::byte, FreeHost> host_;
  Buffer ring_;
  std::vector<std::byte> parcel_;       // of send()
  std::size_t used_ = 0, of_wait_ = 0;  // since which wait of the device's
};

}  // namespace satchel::kernels::cuda
