#include "kernels/base/zeroed_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kernels/base/assert.h"

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

constexpr std::size_t kHugePage = std::size_t{2} << 20;

#if SATCHEL_MAPS_MEMORY
constexpr std::size_t kPage = 4096;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

// Begins with a huge page. The rest behind the last whole one stays small pages: a huge page there
// would be memory that nobody counts. What advice cannot get stays as it is.
void* map(std::size_t bytes) {
  const std::size_t n = rounded_up(bytes, kPage);
  void* mapped =
      mmap(nullptr, n + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const at = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::size_t before = rounded_up(address, kHugePage) - address;
  std::byte* const begin = at + before;
  if (before > 0) (void)munmap(at, before);
  if (before < kHugePage) (void)munmap(begin + n, kHugePage - before);
  (void)madvise(begin, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  (void)madvise(begin, n, MADV_DONTDUMP);
  return begin;
}
#endif

}  // namespace

void* zeroed_memory(std::size_t align, std::size_t bytes) {
  SATCHEL_ASSERT(align <= kHugePage);  // as large mappings are
  if (bytes > PTRDIFF_MAX / 2) return nullptr;
#if SATCHEL_MAPS_MEMORY
  if (bytes >= kHugePage) return map(bytes);
#endif
  void* memory = nullptr;
  if (posix_memalign(&memory, align, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
  std::memset(memory, 0, bytes);
  return memory;
}

void free_zeroed_memory(void* memory, std::size_t bytes) {
#if SATCHEL_MAPS_MEMORY
  if (bytes >= kHugePage) {
    (void)munmap(memory, rounded_up(bytes, kPage));
    return;
  }
#endif
  (void)bytes;
  std::free(memory);
}

}  // namespace satchel
