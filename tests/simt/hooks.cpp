// What g++ and clang call before each access to memory that may be shared, in code that is compiled
// with -fsanitize=thread. That library is not linked: these functions stand in its place, and hold
// each access of a kernel against the memory it may touch.
//   source  the interface of ThreadSanitizer's run-time library, as both compilers use it
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "simt/block.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/shared_check.h"
#include "simt/traffic.h"

namespace simt {
namespace {

struct Range {
  std::uintptr_t begin, end;
  bool holds(std::uintptr_t at) const { return at >= begin && at < end; }
};

Range range_of(const dl_phdr_info& object) {
  Range all{~std::uintptr_t{0}, 0};
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object.dlpi_addr + object.dlpi_phdr[i].p_vaddr;
    all.begin = std::min(all.begin, begin);
    all.end = std::max(all.end, begin + object.dlpi_phdr[i].p_memsz);
  }
  return all;
}

// The program or library that this executor is linked into: kernels' tables of constants lie there.
bool is_in_program(const void* at) {
  static const Range range = [] {
    Range found{};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          const Range each = range_of(*info);
          if (!each.holds(reinterpret_cast<std::uintptr_t>(&is_in_program))) return 0;
          *static_cast<Range*>(out) = each;
          return 1;
        },
        &found);
    return found;
  }();
  return range.holds(reinterpret_cast<std::uintptr_t>(at));
}

bool is_argument(const void* at) {
  const Launch& launch = running_launch();
  const auto* byte = static_cast<const std::byte*>(at);
  return byte >= launch.arguments && byte < launch.arguments + launch.arguments_bytes;
}

void refuse(const void* at, std::size_t bytes, Access access) {
  report(Finding::Kind::out_of_bounds,
         std::string(access == Access::read ? "reads " : "writes ") + std::to_string(bytes) +
             (at == nullptr ? " bytes at a null pointer" : " bytes of memory that is the host's"));
  stop();
}

// kBytes 0: of any size, `bytes`.
template <std::size_t kBytes>
void check(const void* at, std::size_t bytes, Access access) {
  if (is_in_shared_range(at)) return check_shared<kBytes>(at, bytes, access);
  if (is_in_device_range(at)) return check_device<kBytes>(at, bytes, access);
  if (access == Access::read && (is_in_program(at) || is_argument(at))) return;
  refuse(at, bytes, access);
}

void tell_misaligned(std::size_t bytes) {
  report(Finding::Kind::misaligned,
         "an access of " + std::to_string(bytes) + " bytes is not aligned to them");
  stop();
}

// A card faults where an access is not aligned to its own size.
template <std::size_t kBytes>
void check_aligned(const void* at, std::size_t bytes, Access access) {
  if (current() == nullptr || is_on_stack(at)) return;
  if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0) tell_misaligned(bytes);
  check<kBytes>(at, bytes, access);
}

void check_range(const void* at, std::size_t bytes, Access access) {
  if (bytes == 0 || current() == nullptr || is_on_stack(at)) return;
  check<0>(at, bytes, access);
}

}  // namespace

void check_access(const void* at, std::size_t bytes, Access access) {
  check_aligned<0>(at, bytes, access);
}

}  // namespace simt

#define SIMT_HOOK_OF(name, bytes, access)                        \
  void __tsan_##name##bytes(void* at) {                          \
    simt::set_place(__builtin_return_address(0));                \
    if (simt::is_traffic_counted) [[unlikely]]                   \
      simt::note_access(__builtin_return_address(0), at, bytes); \
    simt::check_aligned<bytes>(at, bytes, simt::Access::access); \
    simt::set_place(nullptr);                                    \
  }
#define SIMT_HOOK(bytes)                    \
  SIMT_HOOK_OF(read, bytes, read)           \
  SIMT_HOOK_OF(write, bytes, write)         \
  SIMT_HOOK_OF(unaligned_read, bytes, read) \
  SIMT_HOOK_OF(unaligned_write, bytes, write)

extern "C" {
SIMT_HOOK(1)
SIMT_HOOK(2)
SIMT_HOOK(4)
SIMT_HOOK(8)
SIMT_HOOK(16)
void __tsan_read_range(void* at, std::size_t bytes) {
  if (simt::is_traffic_counted) simt::note_range(__builtin_return_address(0), at, bytes);
  simt::check_range(at, bytes, simt::Access::read);
}
void __tsan_write_range(void* at, std::size_t bytes) {
  if (simt::is_traffic_counted) simt::note_range(__builtin_return_address(0), at, bytes);
  simt::check_range(at, bytes, simt::Access::write);
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
