// Available main memory in bytes: what the system can provide without swapping, including file
// mappings that it can drop. 0 if the system does not tell.
//   source  MemAvailable of /proc/meminfo (Linux)
#pragma once

#include <cstddef>

namespace satchel {

std::size_t free_main_memory();

}  // namespace satchel
