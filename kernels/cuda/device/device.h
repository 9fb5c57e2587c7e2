// Device: the card with its single stream and its memory, and the mapping of CUDA errors.
//   errors   out_of_memory GPU_MEMORY; device_lost GPU_NONE (no card), GPU_DRIVER (missing or too
//            old), GPU_CALL (a call failed, the next may work), GPU_LOST (the card or a kernel
//            failed), and those of choosing a card (cards.h). After GPU_LOST nothing works in this
//            process any more: every call returns it again, without calling the driver.
//   threads  one call at a time, as the Backend, from any thread: CUDA keeps for each which card is
//            current, so whoever calls sets it
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/device_memory.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/transfers.h"

namespace satchel::kernels::cuda {

class Device {
 public:
  // The card that choose_card() takes. memory_limit: see DeviceMemory.
  static Result<std::unique_ptr<Device>> open(std::size_t memory_limit = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Queue& queue() {
    make_current();
    return *queue_;
  }
  const std::string& name() const { return name_; }
  // The number of waits for the stream so far. Work queued before the last one is done.
  std::size_t n_waits() const { return n_waits_; }
  // The most shared memory that a block may request.
  std::size_t shared_bytes_max() const { return shared_bytes_max_; }
  unsigned n_multiprocessors() const { return n_multiprocessors_; }

  // The result of a call just made; once the card is lost, always GPU_LOST.
  Result<void> check(cudaError_t error);
  // Waits for the stream, and reports errors of queued work.
  Result<void> finish();

  const DeviceMemory& memory() const {
    make_current();
    return *memory_;
  }
  // Zeroed, 256-byte aligned. The Buffer must not outlive the Device. Work queued before the Buffer
  // is freed may still use it.
  Result<Buffer> allocate(std::size_t bytes);
  // Grows a workspace buffer to at least `bytes`; if it grows, its contents are lost.
  Result<void> reserve(Buffer& buffer, std::size_t bytes);
  Result<void> upload(std::byte* to, std::span<const std::byte> from);
  // Pieces that are made in main memory, as many at a time as a slot of Transfers holds: no second
  // copy of the whole. make(first, n, out) writes pieces first … of piece_bytes each.
  using Make = std::function<void(std::size_t first, std::size_t n, std::byte* out)>;
  Result<void> upload_made(std::byte* to, std::size_t n_pieces, std::size_t piece_bytes,
                           const Make& make);
  Result<void> download(std::span<std::byte> to, const std::byte* from);
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes);  // may overlap

 private:
  Device() = default;
  // A new thread's current card is CUDA's first.
  void make_current() const {
    if (card_ != 0 && !lost_) cudaSetDevice(card_);
  }
  Result<void> is_there() const { return lost_ ? Result<void>(*lost_) : Result<void>(); }
  std::optional<Error> lost_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<Queue> queue_;
  int card_ = 0;
  std::string name_;
  std::size_t n_waits_ = 0;
  std::size_t shared_bytes_max_ = 0;
  unsigned n_multiprocessors_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<Transfers> transfers_;
  Buffer between_;  // overlapping copies go through it
};

}  // namespace satchel::kernels::cuda
