// zeroed_memory: allocates zeroed main memory aligned to `align`, a power of two of at least
// pointer size. Free it with std::free. Returns null if there is not enough memory.
//   huge pages  allocations of 2 MiB and more request huge pages, which Linux grants with
//               transparent_hugepage "madvise" (the default of Debian and Ubuntu). Every token
//               reads all weights: one thread of a virtual Xeon (Sapphire Rapids) reads 10 GB/s
//               from 4 KiB pages, 15 GB/s from huge pages (2026-11-23).
//   core dumps  leave such allocations out: gigabytes of weights, and what a chat has read
#pragma once

#include <cstddef>

namespace satchel {

void* zeroed_memory(std::size_t align, std::size_t bytes);

}  // namespace satchel
