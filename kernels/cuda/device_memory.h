// DeviceMemory: what a backend takes of a card's memory, within a limit. Addresses for all of it are
// reserved when it opens; memory comes behind them in steps and stays until it goes, blocks are handed
// out of it. Where the driver cannot do that, each block is a cudaMalloc of its own.
//   order   a block given back may be another's at once: work on it is queued, on one stream, before
//           it is given
//   errors  out_of_memory, GPU_MEMORY: how much was asked for, is taken, and the limit
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>

#include "kernels/base/result.h"
#include "kernels/cuda/block_list.h"
#include "kernels/cuda/virtual_memory.h"

namespace satchel::kernels::cuda {

class DeviceMemory {
 public:
  // limit 0: nearly all that the card has, as far as others leave it.
  static std::unique_ptr<DeviceMemory> open(std::size_t limit, cudaError_t& error);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // 256-byte aligned, not zeroed. Null: see `error`.
  std::byte* take(std::size_t bytes, cudaError_t& error);
  void give(std::byte* at);
  Error full(std::size_t bytes) const;  // what GPU_MEMORY says of so many bytes

  std::size_t limit_bytes() const { return limit_; }
  // The longest block that may still be had beside what the kernels will work in. 0 where the driver
  // does not answer.
  std::size_t room_bytes() const;
  std::size_t asked_bytes() const;  // of the driver, as it counts them
  std::size_t taken_bytes() const;  // by blocks

 private:
  DeviceMemory() = default;
  cudaError_t grow(std::size_t bytes);
  std::byte* take_alone(std::size_t bytes, cudaError_t& error);

  std::size_t limit_ = 0;
  std::size_t work_bytes_ = 0;  // that caches leave to the kernels, the same for all time
  std::unique_ptr<VirtualMemory> range_;  // null: blocks are alone
  BlockList blocks_;                      // of the range
  std::map<std::byte*, std::size_t> alone_;
  std::size_t alone_bytes_ = 0;
};

}  // namespace satchel::kernels::cuda
