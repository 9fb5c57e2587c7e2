#include "kernels/cuda/device/transfers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#define TRY_CUDA(call)                                  \
  do {                                                  \
    if (const cudaError_t error = (call)) return error; \
  } while (false)

namespace satchel::kernels::cuda {
namespace {

std::size_t bytes_of_slot(std::size_t i, std::size_t all) {
  return std::min(kSlotBytes, all - i * kSlotBytes);
}

}  // namespace

Transfers::~Transfers() {
  if (own_ != nullptr) cudaStreamSynchronize(own_);
  for (std::byte* slot : slots_) cudaFreeHost(slot);
  for (cudaEvent_t event : {queued_, done_[0], done_[1]})
    if (event != nullptr) cudaEventDestroy(event);
  if (own_ != nullptr) cudaStreamDestroy(own_);
}

bool Transfers::is_ready() {
  if (state_ == State::unmade) {
    state_ = make() == cudaSuccess ? State::ready : State::without;
    if (state_ == State::without) cudaGetLastError();  // a sticky error is reported again
  }
  return state_ == State::ready;
}

cudaError_t Transfers::make() {
  TRY_CUDA(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking));
  for (cudaEvent_t* event : {&queued_, &done_[0], &done_[1]})
    TRY_CUDA(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  for (std::byte*& slot : slots_) {
    void* at = nullptr;
    TRY_CUDA(cudaMallocHost(&at, kSlotBytes));
    slot = static_cast<std::byte*>(at);
  }
  return cudaSuccess;
}

cudaError_t Transfers::begin() {
  TRY_CUDA(cudaEventRecord(queued_, work_));
  return cudaStreamWaitEvent(own_, queued_, 0);
}

cudaError_t Transfers::upload(std::byte* to, std::size_t bytes, std::size_t of_slot,
                              const Fill& fill) {
  TRY_CUDA(begin());
  for (std::size_t at = 0; at < bytes; at += of_slot) {
    const unsigned slot = std::exchange(next_slot_, (next_slot_ + 1) % kSlots);
    const std::size_t n = std::min(of_slot, bytes - at);
    TRY_CUDA(cudaEventSynchronize(done_[slot]));  // the card has read its contents
    fill(at, {slots_[slot], n});
    TRY_CUDA(cudaMemcpyAsync(to + at, slots_[slot], n, cudaMemcpyHostToDevice, own_));
    TRY_CUDA(cudaEventRecord(done_[slot], own_));
    if (at + n == bytes) TRY_CUDA(cudaStreamWaitEvent(work_, done_[slot], 0));
  }
  return cudaSuccess;
}

cudaError_t Transfers::download(std::span<std::byte> to, const std::byte* from) {
  TRY_CUDA(begin());
  const std::size_t n = (to.size() + kSlotBytes - 1) / kSlotBytes;
  for (std::size_t i = 0; i <= n; ++i) {
    if (i < n) {
      const std::size_t slot = i % kSlots;
      TRY_CUDA(cudaMemcpyAsync(slots_[slot], from + i * kSlotBytes, bytes_of_slot(i, to.size()),
                               cudaMemcpyDeviceToHost, own_));
      TRY_CUDA(cudaEventRecord(done_[slot], own_));
    }
    if (i == 0) continue;
    const std::size_t slot = (i - 1) % kSlots;
    TRY_CUDA(cudaEventSynchronize(done_[slot]));
    std::memcpy(to.data() + (i - 1) * kSlotBytes, slots_[slot], bytes_of_slot(i - 1, to.size()));
  }
  return cudaSuccess;
}

}  // namespace satchel::kernels::cuda
