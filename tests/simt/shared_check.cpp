#include "simt/shared_check.h"

#include <array>
#include <string>
#include <vector>

#include "simt/block.h"
#include "simt/findings.h"

namespace simt {
namespace {

constexpr std::uint16_t kNobody = 0xffff, kSeveralOfWarp = 0x8000, kSeveral = 0xfffe;

// An access, and how often the block and the warp had met before it.
struct Touch {
  std::uint16_t who = kNobody;  // a thread, kSeveralOfWarp | its warp, or kSeveral
  bool is_atomic = false;
  std::uint32_t barriers = 0, warp_syncs = 0;
};
struct Byte {
  Touch written, read;
};

struct Shared {
  std::vector<Byte> bytes;
  std::uint32_t barriers = 0;
  std::array<std::uint32_t, kBlockThreadsMax / kWarpLanes> warp_syncs = {};
};
Shared the_shared;
Shared& shared() {
  return the_shared;
}

unsigned warp_of(const Touch& touch) {
  return (touch.who & kSeveralOfWarp) != 0 ? touch.who & ~unsigned{kSeveralOfWarp}
                                           : touch.who / kWarpLanes;
}

bool is_ordered(const Touch& earlier, const Touch& now) {
  if (earlier.who == kNobody || earlier.who == now.who || earlier.barriers < now.barriers)
    return true;
  if (earlier.is_atomic && now.is_atomic) return true;
  if (earlier.who == kSeveral) return false;
  return warp_of(earlier) == warp_of(now) && earlier.warp_syncs < now.warp_syncs;
}

// What stands for both readings when something is written later.
Touch both(const Touch& earlier, const Touch& now) {
  if (is_ordered(earlier, now)) return now;
  Touch out = now;
  const bool is_same_warp = earlier.who != kSeveral && warp_of(earlier) == warp_of(now);
  out.who = is_same_warp ? static_cast<std::uint16_t>(kSeveralOfWarp | warp_of(now)) : kSeveral;
  return out;
}

std::string thread_name(const Touch& touch) {
  if (touch.who == kSeveral) return "several threads";
  if ((touch.who & kSeveralOfWarp) != 0)
    return "several threads of warp " + std::to_string(warp_of(touch));
  return "thread " + std::to_string(touch.who);
}

}  // namespace

void begin_shared(std::size_t bytes) {
  Shared& all = shared();
  all.bytes.assign(bytes, {});
  all.barriers = 0;
  all.warp_syncs = {};
}
void shared_barrier() {
  ++shared().barriers;
}
void shared_warp_sync(unsigned warp) {
  ++shared().warp_syncs[warp];
}

bool is_in_shared_range(const void* at) {
  const auto* byte = static_cast<const std::byte*>(at);
  return byte >= shared_bytes() && byte < shared_bytes() + kSharedBytesMax;
}

void check_shared(const void* at, std::size_t bytes, Access access) {
  Shared& all = shared();
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - shared_bytes());
  const auto tell = [&](Finding::Kind kind, const std::string& why) {
    const char* verb = access == Access::read    ? "reads "
                       : access == Access::write ? "writes "
                                                 : "changes ";
    report(kind, verb + std::to_string(bytes) + " bytes at byte " + std::to_string(offset) +
                     " of shared memory" + why);
  };
  if (offset + bytes > all.bytes.size()) {
    tell(Finding::Kind::out_of_bounds, ", which has " + std::to_string(all.bytes.size()));
    stop();
  }
  const Thread& thread = *current();
  const Touch now{static_cast<std::uint16_t>(thread.index), access == Access::atomic, all.barriers,
                  all.warp_syncs[thread.warp()]};
  const auto tell_race = [&](const Touch& earlier, const char* did) {
    tell(Finding::Kind::shared_race,
         ", which " + thread_name(earlier) + did + ": no barrier is between them");
  };
  for (std::size_t i = offset; i < offset + bytes; ++i) {
    Byte& byte = all.bytes[i];
    if (access != Access::write && byte.written.who == kNobody)
      return tell(Finding::Kind::uninitialised, ": nobody wrote it");
    if (!is_ordered(byte.written, now)) return tell_race(byte.written, " wrote");
    if (access == Access::read) {
      byte.read = both(byte.read, now);
      continue;
    }
    if (!is_ordered(byte.read, now)) return tell_race(byte.read, " read");
    byte.written = now;
  }
}

}  // namespace simt
