// zeroed_memory: allocates zeroed main memory aligned to `align`, a power of two from pointer
// size to 2 MiB. Returns null if there is not enough memory.
//   touches     nothing of allocations of 2 MiB and more: the system gives each page when it is
//               first written, so that a large limit costs a small chat neither memory nor time
//   huge pages  each whole 2 MiB of such allocations requests one, which Linux grants with
//               transparent_hugepage "madvise" (the default of Debian and Ubuntu). Every token
//               reads all weights: one thread of a virtual Xeon (Sapphire Rapids) reads 10 GB/s
//               from 4 KiB pages, 15 GB/s from huge pages (2026-11-23).
//   core dumps  leave such allocations out: gigabytes of weights, and what a chat has read
//   elsewhere   (off Linux, and under AddressSanitizer, which sees the bounds of the heap only) all
//               of it comes from the heap: touched, in small pages, and in core dumps
#pragma once

#include <cstddef>

namespace satchel {

void* zeroed_memory(std::size_t align, std::size_t bytes);
void free_zeroed_memory(void* memory, std::size_t bytes);  // as they were allocated

// The deleter of a std::unique_ptr to such memory.
struct FreeZeroed {
  std::size_t bytes = 0;
  void operator()(void* memory) const { free_zeroed_memory(memory, bytes); }
};

}  // namespace satchel
