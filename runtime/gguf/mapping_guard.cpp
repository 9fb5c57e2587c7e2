#include "runtime/gguf/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace satchel::runtime {
namespace {

// What a signal handler may read: lock-free atomics in static memory.
struct GuardedMapping {
  std::atomic<std::uintptr_t> begin{0};  // 0: the place is free; 1: it is being filled
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> has_faulted{false};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

constexpr std::uintptr_t kFree = 0, kTaken = 1;
std::array<GuardedMapping, 256> guarded_mappings;
std::uintptr_t page_bytes = 4096;
struct sigaction action_before = {};

GuardedMapping* mapping_at(std::uintptr_t address) {
  for (GuardedMapping& mapping : guarded_mappings) {
    const std::uintptr_t begin = mapping.begin.load();
    if (begin > kTaken && begin <= address && address < mapping.end.load()) return &mapping;
  }
  return nullptr;
}

GuardedMapping* mapping_of(const void* memory) {
  return mapping_at(reinterpret_cast<std::uintptr_t>(memory));
}

// Where one page is gone, those behind it are, or are not worth having.
void on_bus_error(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool is_access = info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
  if (GuardedMapping* mapping = is_access ? mapping_at(address) : nullptr) {
    const std::uintptr_t page = address / page_bytes * page_bytes;
    mapping->has_faulted = true;
    if (mmap(reinterpret_cast<void*>(page), mapping->end.load() - page, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
      return;
  }
  (void)sigaction(SIGBUS, &action_before, nullptr);
  if (!is_access) (void)raise(SIGBUS);  // else the instruction is run again, and faults
}

}  // namespace

void guard_mappings() {
  static std::atomic<bool> is_installed{false};
  if (is_installed.exchange(true)) return;
  page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  (void)sigaction(SIGBUS, &action, &action_before);
}

void enter_mapping(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (GuardedMapping& mapping : guarded_mappings) {
    std::uintptr_t is_free = kFree;
    if (!mapping.begin.compare_exchange_strong(is_free, kTaken)) continue;
    mapping.has_faulted = false;
    mapping.end = begin + bytes;
    mapping.begin = begin;
    return;
  }
}

void leave_mapping(const void* memory) {
  if (GuardedMapping* mapping = mapping_of(memory)) mapping->begin = kFree;
}

bool has_faulted(const void* memory) {
  const GuardedMapping* mapping = mapping_of(memory);
  return mapping != nullptr && mapping->has_faulted;
}

}  // namespace satchel::runtime
