#include "kernels/base/zeroed_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace satchel {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Before the memory is first touched, and for whole huge pages only; it is aligned to them. What
// cannot be had stays as it is.
void advise(void* memory, std::size_t bytes) {
#ifdef __linux__
  (void)madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  (void)madvise(memory, bytes / kHugePage * kHugePage, MADV_DONTDUMP);
#else
  (void)memory, (void)bytes;
#endif
}

}  // namespace

void* zeroed_memory(std::size_t align, std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;
  const bool large = bytes >= kHugePage;
  if (large) align = std::max(align, kHugePage);
  void* memory = nullptr;
  if (posix_memalign(&memory, align, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
  if (large) advise(memory, bytes);
  std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace satchel
