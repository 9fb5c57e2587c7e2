// Workplace: what an operation of several steps needs of the backend.
#pragma once

#include <functional>
#include <span>

#include "kernels/cuda/arguments.h"
#include "kernels/cuda/device.h"

namespace satchel::kernels::cuda {

struct Workplace {
  Device& device;
  Arguments& arguments;
  Buffer& room;
  // Backend::decode_pages, which does not use the room.
  const std::function<Result<void>(std::span<const DecodeArgs>)>& decode;

  Queue& queue() const { return device.queue(); }
  Result<void> check(cudaError_t error) const { return device.check(error); }
  // Room for one operation's own use, until the next asks.
  Result<std::byte*> take(std::size_t bytes) const {
    SATCHEL_TRY(device.make_room(room, bytes));
    return room.data();
  }
};

}  // namespace satchel::kernels::cuda
