#include "kernels/cuda/device/arguments.h"

#include <cstring>

#include "kernels/cuda/device/move.h"

namespace satchel::kernels::cuda {
namespace {

constexpr std::size_t kRingBytes = std::size_t{1} << 20;
constexpr std::size_t kSendMost = std::size_t{64} << 10;  // more is not worth a second copy

}  // namespace

Result<Arguments> Arguments::make(Device& device) {
  Arguments arguments(device);
  SATCHEL_TRY(arguments.grow(kRingBytes));
  return arguments;
}

Result<void> Arguments::grow(std::size_t bytes) {
  void* host = nullptr;
  SATCHEL_TRY(device_->check(cudaMallocHost(&host, bytes)));
  HostMemory owned(static_cast<std::byte*>(host));
  SATCHEL_TRY_ASSIGN(Buffer ring, device_->allocate(bytes));
  host_ = std::move(owned);
  ring_ = std::move(ring);
  used_ = 0;
  return {};
}

Result<void> Arguments::reserve(std::size_t bytes) {
  if (of_wait_ != device_->n_waits()) used_ = 0;  // no queued work reads it any more
  of_wait_ = device_->n_waits();
  if (used_ + bytes <= ring_.size()) return {};
  SATCHEL_TRY(device_->finish());
  used_ = 0;
  of_wait_ = device_->n_waits();
  return bytes <= ring_.size() ? Result<void>() : grow(2 * bytes);
}

Result<void> Arguments::send(std::byte* to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (bytes.size() > kSendMost) return device_->upload(to, bytes);
  const Parcel parcel{.to = to, .n_bytes = bytes.size()};
  parcel_.resize(sizeof parcel + bytes.size());
  std::memcpy(parcel_.data(), &parcel, sizeof parcel);
  std::memcpy(parcel_.data() + sizeof parcel, bytes.data(), bytes.size());
  SATCHEL_TRY_ASSIGN(const auto [there], put(std::span<const std::byte>(parcel_)));
  return device_->check(
      deliver(device_->queue(), reinterpret_cast<const Parcel*>(there), bytes.size()));
}

Result<void> Arguments::send_bytes(std::span<const std::byte> bytes) {
  std::byte *const from = host_.get() + used_, *const to = ring_.data() + used_;
  if (bytes.empty()) return {};
  std::memcpy(from, bytes.data(), bytes.size());
  used_ += padded256(bytes.size());
  return device_->check(
      device_->queue().add(RingCopy{.to = to, .from = from, .bytes = bytes.size()}));
}

}  // namespace satchel::kernels::cuda
