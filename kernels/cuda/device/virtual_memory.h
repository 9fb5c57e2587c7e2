// VirtualMemory: a reserved range of card addresses to which memory is mapped step by step, so that
// it grows in place. Driver functions are looked up at run time; nothing links to libcuda.
//   source  arXiv:2405.04437 (vAttention); one range for all caches, not one for each
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace satchel::kernels::cuda {

class VirtualMemory {
 public:
  // Reserves addresses for `bytes` on a card (as CUDA counts them), at least one step, without
  // memory. Null if the driver lacks these calls or refuses, or the card (a virtual one, say)
  // cannot do it.
  static std::unique_ptr<VirtualMemory> reserve(std::size_t bytes, int card);
  ~VirtualMemory();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  std::byte* data() const { return reinterpret_cast<std::byte*>(at_); }
  std::size_t bytes() const { return bytes_; }  // backed by memory
  std::size_t step() const { return step_; }    // sizes are multiples of it
  std::size_t capacity() const { return capacity_; }
  // Adds memory at the end: a multiple of step(), within the capacity.
  cudaError_t grow(std::size_t bytes);

 private:
  struct Calls {
    decltype(&::cuDeviceGet) device = nullptr;
    decltype(&::cuDeviceGetAttribute) attribute = nullptr;
    decltype(&::cuMemGetAllocationGranularity) granularity = nullptr;
    decltype(&::cuMemAddressReserve) reserve = nullptr;
    decltype(&::cuMemAddressFree) free = nullptr;
    decltype(&::cuMemCreate) create = nullptr;
    decltype(&::cuMemRelease) release = nullptr;
    decltype(&::cuMemMap) map = nullptr;
    decltype(&::cuMemUnmap) unmap = nullptr;
    decltype(&::cuMemSetAccess) set_access = nullptr;
    bool find();
    bool card_can(int index) const;
  };
  VirtualMemory() = default;

  Calls calls_;
  CUdeviceptr at_ = 0;
  int card_ = 0;
  std::size_t step_ = 0, capacity_ = 0, bytes_ = 0;
  std::vector<std::size_t> mapped_;  // bytes, one after the other
};

}  // namespace satchel::kernels::cuda
