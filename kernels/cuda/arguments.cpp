#include "kernels/cuda/arguments.h"

#include <algorithm>
#include <cstring>

namespace satchel::kernels::cuda {
namespace {

constexpr std::size_t kRingBytes = std::size_t{1} << 20, kAlignment = 256;

}  // namespace

Result<Arguments> Arguments::make(Device& device) {
  Arguments arguments(device);
  SATCHEL_TRY(arguments.grow(kRingBytes));
  return arguments;
}

Result<void> Arguments::grow(std::size_t bytes) {
  void* host = nullptr;
  SATCHEL_TRY(device_->check(cudaMallocHost(&host, bytes)));
  std::unique_ptr<std::byte, FreeHost> owned(static_cast<std::byte*>(host));
  SATCHEL_TRY_ASSIGN(Buffer ring, device_->allocate(bytes));
  host_ = std::move(owned);
  ring_ = std::move(ring);
  used_ = 0;
  return {};
}

Result<const std::byte*> Arguments::put_bytes(std::span<const std::byte> bytes) {
  if (used_ + bytes.size() > ring_.size()) {
    SATCHEL_TRY(device_->finish());  // nobody reads what is written over now
    if (bytes.size() > ring_.size()) SATCHEL_TRY(grow(2 * bytes.size()));
    used_ = 0;
  }
  std::byte* const to = ring_.data() + used_;
  std::byte* const at = host_.get() + used_;
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  SATCHEL_TRY(device_->upload(to, {at, bytes.size()}));
  used_ += (bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  return to;
}

}  // namespace satchel::kernels::cuda
