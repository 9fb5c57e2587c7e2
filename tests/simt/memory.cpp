#include "simt/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "simt/block.h"
#include "simt/findings.h"

namespace simt {
namespace {

constexpr std::size_t kRangeBytes = std::size_t{1} << 34, kAlignment = 256, kGap = 4096;
constexpr std::uint32_t kNobody = 0, kHost = 1, kFirstBlock = 2;
constexpr std::uint32_t kSeveral = 0x80000000u;  // and the first block of their launch

// Who touched a byte last. Numbers of blocks go on from launch to launch.
struct Touched {
  std::uint32_t writer = kNobody, reader = kNobody;
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
  std::byte* range = reserve<std::byte>(kRangeBytes, PROT_NONE);
  Touched* touched = reserve<Touched>(kRangeBytes, PROT_READ | PROT_WRITE);
  std::map<std::size_t, std::size_t> allocations;  // offset, bytes
  std::size_t used = 0, n_open = 0;
  std::array<Found, 4> last;  // what accesses before this one met
  std::size_t oldest = 0;
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
  return static_cast<std::size_t>(static_cast<const std::byte*>(at) - device().range);
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

bool is_other_block(std::uint32_t who) {
  const Device& all = device();
  if (who < all.first_of_launch || who == all.block) return false;
  if ((who & kSeveral) != 0) return who == (kSeveral | all.first_of_launch);
  return all.acquired.empty() || !all.acquired.contains(who);
}

// Whether a living allocation holds the bytes; the last few that did are looked at first.
bool is_held(std::size_t offset, std::size_t bytes) {
  Device& all = device();
  for (const Found& found : all.last)
    if (offset >= found.begin && offset + bytes <= found.begin + found.bytes) return true;
  const Found found = find(all.range + offset, bytes);
  if (found.is_inside) all.last[all.oldest++ % all.last.size()] = found;
  return found.is_inside;
}

}  // namespace

std::byte* allocate_device(std::size_t bytes) {
  Device& all = device();
  if (bytes > kRangeBytes) return nullptr;
  const std::size_t taken = (bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
  std::size_t at = kGap;
  for (const auto& [begin, length] : all.allocations) {
    if (begin >= at + taken) break;
    at = (begin + length + kAlignment - 1) / kAlignment * kAlignment + kGap;
  }
  if (at + taken > kRangeBytes) return nullptr;
  all.allocations[at] = bytes;
  all.last.fill({});
  all.used += bytes;
  std::fill_n(all.touched + at, bytes, Touched{});
  return all.range + at;
}

bool release_device(std::byte* at) {
  Device& all = device();
  const auto found = all.allocations.find(offset_of(at));
  if (found == all.allocations.end()) return false;
  all.used -= found->second;
  all.last.fill({});
  all.allocations.erase(found);
  return true;
}

bool is_device(const void* at, std::size_t bytes) {
  return is_in_device_range(at) && find(at, bytes).is_inside;
}
std::size_t device_bytes_used() {
  return device().used;
}

DeviceIsOpen::DeviceIsOpen() {
  Device& all = device();
  if (all.n_open++ == 0) ::mprotect(all.range, kRangeBytes, PROT_READ | PROT_WRITE);
}
DeviceIsOpen::~DeviceIsOpen() {
  Device& all = device();
  if (--all.n_open == 0) ::mprotect(all.range, kRangeBytes, PROT_NONE);
}

void mark_written(const std::byte* at, std::size_t bytes) {
  std::fill_n(device().touched + offset_of(at), bytes, Touched{kHost, kNobody});
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

bool is_in_device_range(const void* at) {
  return offset_of(at) < kRangeBytes;
}

void check_device(const void* at, std::size_t bytes, Access access) {
  Device& all = device();
  const auto tell = [&](Finding::Kind kind, const char* what) {
    report(kind, word(access) + std::to_string(bytes) + " bytes, " + where(at, bytes) + what);
  };
  const std::size_t offset = offset_of(at);
  if (!is_held(offset, bytes)) {
    tell(Finding::Kind::out_of_bounds, "");
    stop();
  }
  Touched* touched = all.touched + offset;
  for (Touched* byte = touched; byte < touched + bytes; ++byte) {
    if (access != Access::write && byte->writer == kNobody)
      return tell(Finding::Kind::uninitialised, ", which nobody wrote");
    const bool is_raced =
        access != Access::atomic &&
        (is_other_block(byte->writer) || (access == Access::write && is_other_block(byte->reader)));
    if (is_raced) return tell(Finding::Kind::global_race, ", beside another block");
    if (access == Access::read) {
      const bool is_alone = !is_other_block(byte->reader);
      byte->reader = is_alone ? all.block : kSeveral | all.first_of_launch;
    } else if (access == Access::write) {
      *byte = {all.block, all.block};
    } else {
      byte->writer = kHost;  // ordered by itself
    }
  }
}

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
