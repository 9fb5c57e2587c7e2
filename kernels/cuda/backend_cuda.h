// The Backend on an NVIDIA GPU. Work is queued on one stream; download() and finish() wait.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

// memory_limit: of the card's memory, in bytes, all that the backend takes; 0: nearly all that is free.
// Fails as Device::open().
Result<std::unique_ptr<Backend>> make_backend(std::size_t memory_limit = 0);

}  // namespace satchel::kernels::cuda
