#include "simt/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "simt/block.h"
#include "simt/findings.h"
#include "simt/shadow.h"

namespace simt {
namespace {

constexpr std::size_t kAlignment = 256, kGap = 4096;
// Addresses that are reserved come from the upper half.
constexpr std::size_t kReservedFrom = kDeviceRangeBytes / 2,
                      kReservedAlignment = std::size_t{2} << 20;
// Who touched a byte last. Numbers of blocks go on from launch to launch.
constexpr std::uint32_t kOutside = 0 /* no allocation holds it */, kNobody = 1, kHost = 2,
                        kFirstBlock = 3;
constexpr std::uint32_t kSeveral = 0x80000000u;  // and the first block of their launch

struct Touched {
  std::uint32_t writer = kOutside, reader = kOutside;
  static Touched mixed() { return {.writer = ~0u, .reader = 0}; }
  friend bool operator==(const Touched&, const Touched&) = default;
};

template <class T>
T* reserve(std::size_t n, int protection) {
  void* at = ::mmap(nullptr, n * sizeof(T), protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
  if (at == MAP_FAILED) std::abort();  // address space only
  return static_cast<T*>(at);
}

struct Found {
  bool is_inside = false;
  std::size_t begin = 0, bytes = 0;  // of the allocation that begins at or before; bytes 0: none
};
struct Device {
  Shadow<Touched> touched{reserve<Touched>(kDeviceRangeBytes / 4, PROT_READ | PROT_WRITE),
                          reserve<Touched>(kDeviceRangeBytes, PROT_READ | PROT_WRITE)};
  using Stretches = std::map<std::size_t, std::size_t>;  // offset, bytes
  Stretches allocations, reserved, mapped;
  std::size_t used = 0, n_open = 0;
  std::uint32_t next_block = kFirstBlock, first_of_launch = kFirstBlock, block = kFirstBlock;
  bool has_fenced = false;
  std::map<const void*, std::set<std::uint32_t>> released;  // by an atomic's word, in this launch
  std::set<std::uint32_t> acquired;                         // what this block may read
};
Device the_device;  // not a local static: every access of a kernel comes here
Device& device() {
  return the_device;
}

std::size_t offset_of(const void* at) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(at) - device_range);
}

Found find(const void* at, std::size_t bytes) {
  const std::size_t offset = offset_of(at);
  const auto& all = device().allocations;
  auto next = all.upper_bound(offset);
  if (next == all.begin()) return {};
  const auto [begin, length] = *std::prev(next);
  return {offset + bytes <= begin + length, begin, length};
}

std::string where(const void* at, std::size_t bytes) {
  const Found found = find(at, bytes);
  if (found.bytes == 0) return "before every allocation";
  const std::size_t offset = offset_of(at) - found.begin;
  return "byte " + std::to_string(offset) + " of an allocation of " + std::to_string(found.bytes);
}

const char* word(Access access) {
  return access == Access::read ? "reads " : access == Access::write ? "writes " : "changes ";
}

inline bool is_other_block(std::uint32_t who) {
  const Device& all = the_device;
  if (who < all.first_of_launch || who == all.block) return false;
  if ((who & kSeveral) != 0) return who == (kSeveral | all.first_of_launch);
  return all.acquired.empty() || !all.acquired.contains(who);
}

}  // namespace

std::byte* const device_range = reserve<std::byte>(kDeviceRangeBytes, PROT_NONE);

std::byte* allocate_device(std::size_t bytes) {
  Device& all = device();
  if (bytes > kReservedFrom) return nullptr;
  const std::size_t taken = (bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
  std::size_t at = kGap;
  for (const auto& [begin, length] : all.allocations) {
    if (begin >= at + taken) break;
    at = (begin + length + kAlignment - 1) / kAlignment * kAlignment + kGap;
  }
  if (at + taken > kReservedFrom) return nullptr;
  all.allocations[at] = bytes;
  all.used += bytes;
  all.touched.fill(at, bytes, {kNobody, kNobody});
  return device_range + at;
}

bool release_device(std::byte* at) {
  Device& all = device();
  const auto found = all.allocations.find(offset_of(at));
  if (found == all.allocations.end()) return false;
  all.used -= found->second;
  all.touched.fill(found->first, found->second, {kOutside, kOutside});
  all.allocations.erase(found);
  return true;
}

std::byte* reserve_addresses(std::size_t bytes) {
  Device& all = device();
  std::size_t at = kReservedFrom;
  for (const auto& [begin, length] : all.reserved) {
    if (begin >= at + bytes) break;
    at = (begin + length + kReservedAlignment - 1) / kReservedAlignment * kReservedAlignment;
  }
  if (bytes > kReservedFrom || at + bytes > kDeviceRangeBytes) return nullptr;
  all.reserved[at] = bytes;
  return device_range + at;
}

bool free_addresses(std::byte* at, std::size_t bytes) {
  Device::Stretches& all = device().reserved;
  const auto found = all.find(offset_of(at));
  if (found == all.end() || found->second != bytes) return false;
  all.erase(found);
  return true;
}

bool map_memory(std::byte* at, std::size_t bytes) {
  Device& all = device();
  const std::size_t begin = offset_of(at), end = begin + bytes;
  const auto next = all.mapped.lower_bound(begin);
  const bool is_free =
      (next == all.mapped.end() || next->first >= end) &&
      (next == all.mapped.begin() || std::prev(next)->first + std::prev(next)->second <= begin);
  const auto addresses = all.reserved.upper_bound(begin);
  if (!is_free || addresses == all.reserved.begin() ||
      std::prev(addresses)->first + std::prev(addresses)->second < end)
    return false;
  all.mapped[begin] = bytes;
  all.used += bytes;
  return true;
}

bool unmap_memory(std::byte* at, std::size_t bytes) {
  Device& all = device();
  const auto found = all.mapped.find(offset_of(at));
  if (found == all.mapped.end() || found->second != bytes) return false;
  all.used -= bytes;
  all.mapped.erase(found);
  ::madvise(at, bytes, MADV_DONTNEED);
  return true;
}

void begin_allocation(std::byte* at, std::size_t bytes) {
  Device& all = device();
  all.allocations[offset_of(at)] = bytes;
  all.touched.fill(offset_of(at), bytes, {kNobody, kNobody});
}
void end_allocation(std::byte* at) {
  Device& all = device();
  const auto found = all.allocations.find(offset_of(at));
  if (found == all.allocations.end()) std::abort();  // its own bookkeeping is wrong
  all.touched.fill(found->first, found->second, {kOutside, kOutside});
  all.allocations.erase(found);
}

bool is_device(const void* at, std::size_t bytes) {
  return is_in_device_range(at) && find(at, bytes).is_inside;
}
std::size_t device_bytes_used() {
  return device().used;
}
std::size_t device_bytes_held() {
  std::size_t sum = 0;
  for (const auto& [begin, bytes] : device().allocations) sum += bytes;
  return sum;
}

DeviceIsOpen::DeviceIsOpen() {
  Device& all = device();
  if (all.n_open++ == 0) ::mprotect(device_range, kDeviceRangeBytes, PROT_READ | PROT_WRITE);
}
DeviceIsOpen::~DeviceIsOpen() {
  Device& all = device();
  if (--all.n_open == 0) ::mprotect(device_range, kDeviceRangeBytes, PROT_NONE);
}

void mark_written(const std::byte* at, std::size_t bytes) {
  device().touched.fill(offset_of(at), bytes, {kHost, kNobody});
}

void begin_launch_of_memory() {
  Device& all = device();
  all.first_of_launch = all.next_block;
  all.released.clear();
}
void begin_block_of_memory() {
  Device& all = device();
  all.block = all.next_block++;
  all.has_fenced = false;
  all.acquired.clear();
}

namespace {

void tell(Finding::Kind kind, const void* at, std::size_t bytes, Access access, const char* what) {
  report(kind, word(access) + std::to_string(bytes) + " bytes, " + where(at, bytes) + what);
}

// What an access makes of a byte's history; false: it was told instead.
inline bool touch(Touched& byte, const void* at, std::size_t bytes, Access access) {
  const Device& all = the_device;
  if (byte.writer == kOutside) {
    tell(Finding::Kind::out_of_bounds, at, bytes, access, "");
    stop();
  }
  if (access != Access::write && byte.writer == kNobody) {
    tell(Finding::Kind::uninitialised, at, bytes, access, ", which nobody wrote");
    return false;
  }
  const bool is_raced =
      access != Access::atomic &&
      (is_other_block(byte.writer) || (access == Access::write && is_other_block(byte.reader)));
  if (is_raced) {
    tell(Finding::Kind::global_race, at, bytes, access, ", beside another block");
    return false;
  }
  if (access == Access::read)
    byte.reader = is_other_block(byte.reader) ? kSeveral | all.first_of_launch : all.block;
  else if (access == Access::write)
    byte = {all.block, all.block};
  else
    byte.writer = kHost;  // ordered by itself
  return true;
}

}  // namespace

template <std::size_t kBytes>
void check_device(const void* at, std::size_t bytes_of_range, Access access) {
  const std::size_t bytes = kBytes == 0 ? bytes_of_range : kBytes;
  the_device.touched.visit<kBytes>(offset_of(at), bytes,
                                   [&](Touched& byte) { return touch(byte, at, bytes, access); });
}
template void check_device<0>(const void*, std::size_t, Access);
template void check_device<1>(const void*, std::size_t, Access);
template void check_device<2>(const void*, std::size_t, Access);
template void check_device<4>(const void*, std::size_t, Access);
template void check_device<8>(const void*, std::size_t, Access);
template void check_device<16>(const void*, std::size_t, Access);

void fence() {
  device().has_fenced = true;
}

void order_by_atomic(const void* at) {
  Device& all = device();
  std::set<std::uint32_t>& released = all.released[at];
  all.acquired.insert(released.begin(), released.end());
  if (all.has_fenced) {
    released.insert(all.block);
    released.insert(all.acquired.begin(), all.acquired.end());
  }
}

}  // namespace simt
