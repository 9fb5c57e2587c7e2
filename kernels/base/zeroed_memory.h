// zeroed_memory: main memory aligned to `align` (a power of two, of a pointer's size at least), to
// be freed by std::free; zeroed. Null where there is none.
//   huge pages  memory of 2 MiB and more asks for pages of that size, where the system gives them
//               to who asks (Linux: transparent_hugepage "madvise", the default of Debian and
//               Ubuntu). Weights are read from end to end for every token: one thread of a virtual
//               Xeon (Sapphire Rapids) does so at 10 GB/s from pages of 4 KiB, at 15 from these
//               (2026-11-23)
#pragma once

#include <cstddef>

namespace satchel {

void* zeroed_memory(std::size_t align, std::size_t bytes);

}  // namespace satchel
