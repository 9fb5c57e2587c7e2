#include "simt/warp.h"

#include <cstring>

#include "simt/findings.h"
#include "simt/shared_check.h"
#include "simt/traffic.h"

namespace simt {
namespace {

struct Ballot {
  bool is;
  std::uint32_t all;
};
void count_votes(const std::array<Slot, kWarpLanes>& slots, std::uint32_t) {
  std::uint32_t all = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    if (slots[lane] != nullptr && static_cast<const Ballot*>(slots[lane])->is) all |= 1u << lane;
  for (const Slot slot : slots)
    if (slot != nullptr) static_cast<Ballot*>(slot)->all = all;
}

struct Shuffle {
  const void* value;
  std::size_t bytes;
  unsigned lane;
  void* out;
};
void exchange(const std::array<Slot, kWarpLanes>& slots, std::uint32_t) {
  for (const Slot slot : slots) {
    if (slot == nullptr) continue;
    const auto& to = *static_cast<const Shuffle*>(slot);
    if (to.lane >= kWarpLanes || slots[to.lane] == nullptr) {
      report(Finding::Kind::bad_operand,
             "a shuffle from lane " + std::to_string(to.lane) + ", which is not in the mask");
      stop();
    }
    std::memcpy(to.out, static_cast<const Shuffle*>(slots[to.lane])->value, to.bytes);
  }
}

void order_lanes(const std::array<Slot, kWarpLanes>&, std::uint32_t mask) {
  if (mask == ~0u) shared_warp_sync(current()->warp());
}

}  // namespace

void sync_warp(std::uint32_t mask) {
  char nothing = 0;
  meet(mask, order_lanes, &nothing);
}

std::uint32_t ballot(std::uint32_t mask, bool is) {
  Ballot vote{is, 0};
  meet(mask, count_votes, &vote);
  return vote.all;
}

void shuffle_bytes(std::uint32_t mask, const void* value, std::size_t bytes, unsigned lane,
                   void* out) {
  Shuffle slot{value, bytes, lane, out};
  meet(mask, exchange, &slot);
}

std::uint64_t atomic_bits(void* at, std::size_t bytes,
                          std::uint64_t (*change)(std::uint64_t old, std::uint64_t by),
                          std::uint64_t by) {
  if (is_traffic_counted) note_access(__builtin_return_address(0), at, bytes);
  check_access(at, bytes, Access::atomic);
  order_by_atomic(at);
  std::uint64_t old = 0;
  std::memcpy(&old, at, bytes);
  const std::uint64_t now = change(old, by);
  std::memcpy(at, &now, bytes);
  return old;
}

}  // namespace simt
