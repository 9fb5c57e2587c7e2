// OpContext: the context that an operation of several steps needs from the backend.
#pragma once

#include <functional>
#include <span>

#include "kernels/cuda/device/arguments.h"
#include "kernels/cuda/device/device.h"

namespace satchel::kernels::cuda {

struct OpContext {
  Device& device;
  Arguments& arguments;
  Buffer& workspace;
  // Backend::decode_pages, which does not use the workspace.
  const std::function<Result<void>(std::span<const DecodeArgs>)>& decode;

  Queue& queue() const { return device.queue(); }
  Result<void> check(cudaError_t error) const { return device.check(error); }
  // Workspace for one operation, until the next call of take().
  Result<std::byte*> take(std::size_t bytes) const {
    SATCHEL_TRY(device.reserve(workspace, bytes));
    return workspace.data();
  }
};

}  // namespace satchel::kernels::cuda
