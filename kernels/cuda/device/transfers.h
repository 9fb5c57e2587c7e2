// Transfers: copies large ranges between pageable memory and the card, through two alternating
// pinned buffers. While the card copies one, the host fills or drains the other, at the speed of
// the bus. They have their own stream and start after the work queued so far. Later work waits for
// an upload, but runs concurrently with a download.
//   source  the CUDA programming guide, "Asynchronous Concurrent Execution"
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <span>

namespace satchel::kernels::cuda {

inline constexpr std::size_t kSlotBytes =
    std::size_t{8} << 20;  // chosen: about 0.3 ms on the bus, where a call costs 10 µs
// Below, a plain copy will do. From here on a copy from pageable memory would wait for all queued
// work, where one of these is queued beside it.
inline constexpr std::size_t kTransferLeast = std::size_t{64} << 10;

class Transfers {
 public:
  explicit Transfers(cudaStream_t work) : work_(work) {}
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Creates slots and stream if there are none yet. False if that failed once: use plain copies.
  bool is_ready();
  // Writes into a slot what is uploaded from its byte `at` on.
  using Fill = std::function<void(std::size_t at, std::span<std::byte> slot)>;
  // `of_slot` bytes at a time, at most kSlotBytes. Everything has been filled when it returns; `to`
  // is written after the work queued so far.
  cudaError_t upload(std::byte* to, std::size_t bytes, std::size_t of_slot, const Fill& fill);
  // Waits.
  cudaError_t download(std::span<std::byte> to, const std::byte* from);

 private:
  static constexpr unsigned kSlots = 2;
  cudaError_t make();
  cudaError_t begin();

  cudaStream_t work_, own_ = nullptr;
  cudaEvent_t queued_ = nullptr, done_[kSlots] = {};
  std::byte* slots_[kSlots] = {};
  unsigned next_slot_ = 0;  // of uploads, so that short ones take turns too
  enum class State { unmade, ready, without } state_ = State::unmade;
};

}  // namespace satchel::kernels::cuda
