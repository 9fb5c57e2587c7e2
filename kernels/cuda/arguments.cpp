#include "kernels/cuda/arguments.h"

#include <cstring>

namespace satchel::kernels::cuda {
namespace {

constexpr std::size_t kRingBytes = std::size_t{1} << 20;

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

Result<void> Arguments::make_room(std::size_t bytes) {
  if (of_wait_ != device_->n_waits()) used_ = 0;  // nobody reads any more what lies here
  of_wait_ = device_->n_waits();
  if (used_ + bytes <= ring_.size()) return {};
  SATCHEL_TRY(device_->finish());
  used_ = 0;
  of_wait_ = device_->n_waits();
  return bytes <= ring_.size() ? Result<void>() : grow(2 * bytes);
}

Result<void> Arguments::send(std::byte* to, std::span<const std::byte> bytes) {
  SATCHEL_TRY(make_room(padded(bytes.size())));
  return send_bytes(to, bytes);
}

Result<void> Arguments::send_bytes(std::byte* to, std::span<const std::byte> bytes) {
  std::byte* const at = host_.get() + used_;
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  used_ += padded(bytes.size());
  return device_->upload_pinned(to, {at, bytes.size()});
}

}  // namespace satchel::kernels::cuda
