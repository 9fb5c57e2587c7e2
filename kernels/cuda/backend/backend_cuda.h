// The Backend on an NVIDIA GPU. Work is queued on one stream; download() and finish() wait.
#pragma once

#include <memory>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

// Fails as Device::open().
Result<std::unique_ptr<Backend>> make_backend();

}  // namespace satchel::kernels::cuda
