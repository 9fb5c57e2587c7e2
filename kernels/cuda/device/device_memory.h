// DeviceMemory: the backend's allocator of card memory, with a limit. It reserves addresses for all
// of it when it opens, maps memory behind them in steps, and keeps it until it is destroyed. If the
// driver does not support this, each allocation is a cudaMalloc.
//   order   a freed block may be reused at once, because all work on it is queued on one stream
//           before it is freed
//   errors  out_of_memory, GPU_MEMORY: how much was requested, how much is in use, and the limit
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>

#include "kernels/base/result.h"
#include "kernels/cuda/device/free_list.h"
#include "kernels/cuda/device/virtual_memory.h"

namespace satchel::kernels::cuda {

class DeviceMemory {
 public:
  // Of the current card, which is `card`. limit 0: nearly all of its memory, as far as other
  // programs leave it.
  static std::unique_ptr<DeviceMemory> open(std::size_t limit, int card, cudaError_t& error);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // 256-byte aligned, not zeroed. Null: see `error`.
  std::byte* take(std::size_t bytes, cudaError_t& error);
  void give(std::byte* at);
  Error full(std::size_t bytes) const;  // GPU_MEMORY for a request of `bytes`

  std::size_t limit_bytes() const { return limit_; }
  // The largest block that can still be allocated if the kernels' workspace is left free. 0 if the
  // driver does not answer.
  std::size_t available_bytes() const;
  std::size_t asked_bytes() const;  // requested from the driver
  std::size_t taken_bytes() const;  // allocated to blocks

 private:
  DeviceMemory() = default;
  cudaError_t grow(std::size_t bytes);
  std::byte* take_alone(std::size_t bytes, cudaError_t& error);

  std::size_t limit_ = 0;
  std::size_t work_bytes_ = 0;            // that caches leave to the kernels; constant
  std::unique_ptr<VirtualMemory> range_;  // null: each block is a cudaMalloc
  FreeList blocks_;                       // of the range
  std::map<std::byte*, std::size_t> alone_;
  std::size_t alone_bytes_ = 0;
};

}  // namespace satchel::kernels::cuda
