// Main memory that can be had now, in bytes: what the system would give without swapping, mapped
// files that it could drop among it. 0: the system does not say.
//   source  MemAvailable of /proc/meminfo (Linux)
#pragma once

#include <cstddef>

namespace satchel {

std::size_t free_main_memory();

}  // namespace satchel
