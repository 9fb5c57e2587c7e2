// Buffers in main memory, for every backend whose memory is main memory.
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

// Zeroed, 256-byte aligned; 0 bytes give a valid address too. Fails with out_of_memory, "MEMORY".
Result<Buffer> allocate_host(std::size_t bytes);

}  // namespace satchel::kernels::reference
