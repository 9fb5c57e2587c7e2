#include "kernels/cuda/device/device_memory.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/base/size_text.h"
#include "kernels/cuda/device/poison.h"

namespace satchel::kernels::cuda {
namespace {

constexpr std::size_t kAlignment = 256;
// Chosen: a step costs the driver about 100 µs, and holds thousands of pages of a growing cache.
constexpr std::size_t kStepBytes = std::size_t{64} << 20;
// The share of the card's memory left for what the driver loads later: kernels, their stacks.
// Chosen.
constexpr std::size_t kShareLeft = 32;

// The share of initially free memory that caches leave for the kernels' workspace: products, scores
// and pages of a chunk take at most 64 MiB each, experts 128 MiB, key bases 256 MiB, and logits of
// a large model some tens of MiB.
constexpr std::size_t kWorkLeast = std::size_t{256} << 20, kWorkMost = std::size_t{2} << 30;
constexpr std::size_t kWorkShare = 8;

std::size_t rounded_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::unique_ptr<DeviceMemory> DeviceMemory::open(std::size_t limit, int card, cudaError_t& error) {
  std::size_t n_free = 0, n_all = 0;
  error = cudaMemGetInfo(&n_free, &n_all);
  if (error != cudaSuccess) return nullptr;
  std::unique_ptr<DeviceMemory> made(new DeviceMemory);
  // Not what is free now: the owner of the rest, perhaps an earlier model, may free it.
  made->limit_ = std::min(limit == 0 ? n_all - n_all / kShareLeft : limit, n_all);
  made->range_ = VirtualMemory::reserve(made->limit_, card);
  if (made->range_ != nullptr) made->limit_ = made->range_->capacity();
  made->work_bytes_ =
      std::clamp(std::min(made->limit_, n_free) / kWorkShare, kWorkLeast, kWorkMost);
  return made;
}

DeviceMemory::~DeviceMemory() {
  for (const auto& [at, bytes] : alone_) cudaFree(at);
}

std::size_t DeviceMemory::asked_bytes() const {
  return range_ == nullptr ? alone_bytes_ : range_->bytes();
}
std::size_t DeviceMemory::taken_bytes() const {
  return range_ == nullptr ? alone_bytes_ : blocks_.taken_bytes();
}

std::size_t DeviceMemory::available_bytes() const {
  std::size_t n_free = 0, n_all = 0;
  if (cudaMemGetInfo(&n_free, &n_all) != cudaSuccess) return 0;
  n_free -= std::min(n_free, n_all / kShareLeft);
  const std::size_t at_end = blocks_.free_at_end();
  const std::size_t available = at_end + std::min(n_free, limit_ - asked_bytes());
  return available - std::min(available, work_bytes_);
}

std::byte* DeviceMemory::take(std::size_t bytes, cudaError_t& error) {
  error = cudaErrorMemoryAllocation;
  if (bytes > limit_) return nullptr;
  if (range_ == nullptr) return take_alone(std::max<std::size_t>(bytes, 1), error);
  const std::size_t block = rounded_up(std::max<std::size_t>(bytes, 1) + kGuardBytes, kAlignment);
  auto at = blocks_.take(block);
  if (!at) {
    error = grow(block - blocks_.free_at_end());
    if (error != cudaSuccess) return nullptr;
    at = blocks_.take(block);
    SATCHEL_ASSERT(at.has_value());
  }
  error = cudaSuccess;
  std::byte* const there = range_->data() + *at;
  mark_taken(there, bytes);
  return there;
}

// By kStepBytes if there is room for it, else by what is needed.
cudaError_t DeviceMemory::grow(std::size_t bytes) {
  const std::size_t left = range_->capacity() - range_->bytes();
  const std::size_t least = rounded_up(bytes, range_->step());
  if (least > left) return cudaErrorMemoryAllocation;
  const std::size_t most = std::min(std::max(least, rounded_up(kStepBytes, range_->step())), left);
  cudaError_t error = range_->grow(most);
  std::size_t grown = most;
  if (error == cudaErrorMemoryAllocation && least < most) error = range_->grow(grown = least);
  if (error == cudaSuccess) blocks_.grow(grown);
  return error;
}

std::byte* DeviceMemory::take_alone(std::size_t bytes, cudaError_t& error) {
  if (bytes > limit_ - alone_bytes_) return nullptr;
  void* at = nullptr;
  error = cudaMalloc(&at, bytes);
  if (error != cudaSuccess) return nullptr;
  alone_bytes_ += bytes;
  alone_.emplace(static_cast<std::byte*>(at), bytes);
  return static_cast<std::byte*>(at);
}

void DeviceMemory::give(std::byte* at) {
  if (range_ != nullptr) {
    mark_given(at);
    return blocks_.give(static_cast<std::size_t>(at - range_->data()));
  }
  const auto block = alone_.find(at);
  SATCHEL_ASSERT(block != alone_.end());
  alone_bytes_ -= block->second;
  alone_.erase(block);
  cudaFree(at);
}

Error DeviceMemory::full(std::size_t bytes) const {
  return {
      ErrorKind::out_of_memory, "GPU_MEMORY",
      "The GPU memory is full: " + size_text(bytes) + " more are needed, " +
          size_text(taken_bytes()) + " of at most " + size_text(limit_) +
          " are in use. Close other programs that use the GPU, raise the limit, choose a smaller "
          "model or a smaller cache, or use the cpu backend."};
}

}  // namespace satchel::kernels::cuda
