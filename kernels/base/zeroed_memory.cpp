#include "kernels/base/zeroed_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// AddressSanitizer sees the bounds of what comes from the heap only.
#if defined(__SANITIZE_ADDRESS__)
#define SATCHEL_MAPS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SATCHEL_MAPS_MEMORY 0
#endif
#endif
#if !defined(SATCHEL_MAPS_MEMORY) && defined(__linux__)
#include <sys/mman.h>
#define SATCHEL_MAPS_MEMORY 1
#elif !defined(SATCHEL_MAPS_MEMORY)
#define SATCHEL_MAPS_MEMORY 0
#endif

namespace satchel {
namespace {

#if SATCHEL_MAPS_MEMORY
constexpr std::size_t kHugePage = std::size_t{2} << 20;

constexpr std::size_t rounded_up(std::size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

// Begins with a huge page and ends with one. What advice cannot get stays as it is.
void* map(std::size_t bytes) {
  const std::size_t n = rounded_up(bytes);
  void* mapped =
      mmap(nullptr, n + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t before =
      rounded_up(reinterpret_cast<std::uintptr_t>(begin)) - reinterpret_cast<std::uintptr_t>(begin);
  if (before > 0) (void)munmap(begin, before);
  if (before < kHugePage) (void)munmap(begin + before + n, kHugePage - before);
  (void)madvise(begin + before, n, MADV_HUGEPAGE);
  (void)madvise(begin + before, n, MADV_DONTDUMP);
  return begin + before;
}
#endif

}  // namespace

void* zeroed_memory(std::size_t align, std::size_t bytes) {
  if (bytes > PTRDIFF_MAX / 2) return nullptr;
#if SATCHEL_MAPS_MEMORY
  if (bytes >= kHugePage && align <= kHugePage) return map(bytes);
#endif
  void* memory = nullptr;
  if (posix_memalign(&memory, align, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
  std::memset(memory, 0, bytes);
  return memory;
}

void free_zeroed_memory(void* memory, std::size_t bytes) {
#if SATCHEL_MAPS_MEMORY
  if (bytes >= kHugePage) {
    (void)munmap(memory, rounded_up(bytes));
    return;
  }
#endif
  (void)bytes;
  std::free(memory);
}

}  // namespace satchel
