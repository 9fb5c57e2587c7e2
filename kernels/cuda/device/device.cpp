#include "kernels/cuda/device/device.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cuda/device/cards.h"

namespace satchel::kernels::cuda {
namespace {

std::string named(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

// The Error for a CUDA error that is not sticky.
Error error_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return {
          ErrorKind::out_of_memory, "GPU_MEMORY",
          "The GPU memory is full. Close other programs that use the GPU, choose a smaller limit "
          "or a smaller model, or use the cpu backend."};
    case cudaErrorNoDevice:
      return {ErrorKind::device_lost, "GPU_NONE",
              "No NVIDIA GPU was found. Use the cpu backend, which needs none."};
    case cudaErrorInsufficientDriver:
      return {
          ErrorKind::device_lost, "GPU_DRIVER",
          "The NVIDIA driver is missing, or too old for this build of the cuda backend. Install "
          "a newer one, or use the cpu backend."};
    default:
      return {ErrorKind::device_lost, "GPU_CALL",
              "A GPU call failed (" + named(error) +
                  "). Saved chats are not affected. Try again. If it keeps failing, restart the "
                  "program or use the cpu backend."};
  }
}

Error lost_by(cudaError_t error) {
  return {ErrorKind::device_lost, "GPU_LOST",
          "The GPU stopped (" + named(error) +
              "). Saved chats are not affected. Restart the program to use the GPU again, or "
              "continue with the cpu backend."};
}

// Within the card's memory.
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  cudaError_t send(cudaStream_t stream) const {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  friend bool operator==(const Copy&, const Copy&) = default;
};

}  // namespace

// An error is sticky if a call that does nothing reports one too.
Result<void> Device::check(cudaError_t error) {
  if (error == cudaSuccess || lost_) return is_there();
  cudaGetLastError();  // so that an error that is not sticky (out of memory) is not reported again
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) return error_of(error);
  const cudaError_t since = cudaStreamQuery(stream_);
  cudaGetLastError();
  if (since == cudaSuccess || since == cudaErrorNotReady) return error_of(error);
  lost_ = lost_by(since);  // which may be older than the call that reported it
  if (queue_ != nullptr) queue_->stop(since);
  return is_there();
}

Result<std::unique_ptr<Device>> Device::open(std::size_t memory_limit) {
  std::unique_ptr<Device> device(new Device);
  SATCHEL_TRY_ASSIGN(const Card card,
                     choose_card([&](cudaError_t error) { return device->check(error); }));
  device->card_ = card.index;
  device->name_ = card.name;
  device->shared_bytes_max_ = card.shared_bytes_max;
  device->n_multiprocessors_ = card.n_multiprocessors;
  SATCHEL_TRY(device->check(cudaStreamCreateWithFlags(&device->stream_, cudaStreamNonBlocking)));
  device->queue_ = std::make_unique<Queue>(device->stream_, card.sets_up_early);
  device->transfers_ = std::make_unique<Transfers>(device->stream_);
  cudaError_t error = cudaSuccess;
  device->memory_ = DeviceMemory::open(memory_limit, card.index, error);
  SATCHEL_TRY(device->check(error));
  return device;
}

Device::~Device() {
  if (stream_ == nullptr) return;
  make_current();
  if (queue_ != nullptr) queue_->send();
  if (!lost_) cudaStreamSynchronize(stream_);
  queue_.reset();
  transfers_.reset();
  between_ = {};
  memory_.reset();
  cudaStreamDestroy(stream_);
}

Result<Buffer> Device::allocate(std::size_t bytes) {
  SATCHEL_TRY(is_there());
  make_current();
  cudaError_t error = cudaSuccess;
  std::byte* const at = memory_->take(bytes, error);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // as check() does
    return memory_->full(bytes);
  }
  SATCHEL_TRY(check(error));
  Buffer buffer(at, bytes, [this](std::byte* data) {
    make_current();
    if (queue_ != nullptr) queue_->send_unheard();
    memory_->give(data);
  });
  if (bytes > 0) SATCHEL_TRY(check(cudaMemsetAsync(at, 0, bytes, stream_)));
  return buffer;
}

Result<void> Device::reserve(Buffer& buffer, std::size_t bytes) {
  if (buffer.size() >= bytes) return {};
  buffer = {};
  SATCHEL_TRY_ASSIGN(buffer, allocate(bytes));
  return {};
}

Result<void> Device::upload(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return is_there();
  SATCHEL_TRY(check(queue().send()));
  if (from.size() >= kTransferLeast && transfers_->is_ready())
    return check(transfers_->upload(to, from.size(), kSlotBytes,
                                    [&](std::size_t at, std::span<std::byte> slot) {
                                      std::memcpy(slot.data(), from.data() + at, slot.size());
                                    }));
  // A card that reads pageable memory itself may do so after the call has returned.
  SATCHEL_TRY(
      check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_)));
  return check(cudaStreamSynchronize(stream_));
}

Result<void> Device::upload_made(std::byte* to, std::size_t n_pieces, std::size_t piece_bytes,
                                 const Make& make) {
  if (n_pieces * piece_bytes == 0) return is_there();
  SATCHEL_TRY(check(queue().send()));
  const std::size_t of_slot = kSlotBytes / piece_bytes;
  if (of_slot > 0 && transfers_->is_ready())
    return check(transfers_->upload(to, n_pieces * piece_bytes, of_slot * piece_bytes,
                                    [&](std::size_t at, std::span<std::byte> slot) {
                                      make(at / piece_bytes, slot.size() / piece_bytes,
                                           slot.data());
                                    }));
  // A piece is larger than a slot, or no slots can be had.
  const std::size_t at_once = std::clamp<std::size_t>(of_slot, 1, n_pieces);
  std::vector<std::byte> made(at_once * piece_bytes);
  for (std::size_t first = 0; first < n_pieces; first += at_once) {
    const std::size_t n = std::min(at_once, n_pieces - first);
    make(first, n, made.data());
    SATCHEL_TRY(upload(to + first * piece_bytes, std::span(made).first(n * piece_bytes)));
  }
  return {};
}

Result<void> Device::finish() {
  SATCHEL_TRY(check(queue().end_step()));
  SATCHEL_TRY(check(cudaStreamSynchronize(stream_)));
  ++n_waits_;
  return {};
}

// The copy is sent after the step and not as part of it, so its target may differ from step to
// step.
Result<void> Device::download(std::span<std::byte> to, const std::byte* from) {
  SATCHEL_TRY(check(queue().end_step()));
  if (to.size() >= kTransferLeast && transfers_->is_ready()) {
    SATCHEL_TRY(check(transfers_->download(to, from)));
    ++n_waits_;  // the transfer came after all queued work, and is done
    return {};
  }
  if (!to.empty())
    SATCHEL_TRY(
        check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_)));
  return finish();
}

Result<void> Device::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return is_there();
  const auto move = [&](std::byte* there, const std::byte* here) {
    return check(queue().add(Copy{there, here, bytes}));
  };
  if (to + bytes <= from || from + bytes <= to) return move(to, from);
  SATCHEL_TRY(reserve(between_, bytes));
  SATCHEL_TRY(move(between_.data(), from));
  return move(to, between_.data());
}

}  // namespace satchel::kernels::cuda
