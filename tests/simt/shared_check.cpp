#include "simt/shared_check.h"

#include <array>
#include <string>

#include "simt/block.h"
#include "simt/findings.h"
#include "simt/shadow.h"

namespace simt {
namespace {

// Beside threads: several of one warp (this and its number), several, nobody.
constexpr std::uint32_t kSeveralOfWarp = 1024, kSeveral = 2047;

// An access, and how often blocks and the warp had met before it. Barriers are counted from block
// to block, and a block begins with one: what has fewer than it is of a block before. One number,
// because every access of a kernel reads and writes it.
class Touch {
 public:
  Touch() = default;
  Touch(std::uint32_t barriers, std::uint32_t warp_syncs, unsigned who, bool is_atomic)
      : bits_(std::uint64_t{barriers} << 32 | std::uint64_t{warp_syncs & 0xfffff} << 12 |
              (is_atomic ? 1u << 11 : 0u) | who) {}
  std::uint32_t barriers() const { return static_cast<std::uint32_t>(bits_ >> 32); }
  std::uint32_t warp_syncs() const { return bits_ >> 12 & 0xfffff; }
  bool is_atomic() const { return (bits_ >> 11 & 1) != 0; }
  unsigned who() const { return bits_ & 2047; }
  Touch by(unsigned who) const { return Touch((bits_ & ~std::uint64_t{2047}) | who); }
  friend bool operator==(const Touch&, const Touch&) = default;

 private:
  explicit Touch(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};
struct History {
  Touch written, read;
  static History mixed() { return {.written = {~0u, 0, 0, false}, .read = {}}; }
  friend bool operator==(const History&, const History&) = default;
};

struct Shared {
  std::size_t n_bytes = 0;
  std::uint32_t barriers = 0, first_of_block = 0;
  std::array<std::uint32_t, kBlockThreadsMax / kWarpLanes> warp_syncs = {};
  std::array<History, kSharedBytesMax / 4> words = {};
  std::array<History, kSharedBytesMax> bytes = {};
};
Shared the_shared;

bool is_of_nobody(const Touch& touch) {
  return touch.barriers() < the_shared.first_of_block;
}
unsigned warp_of(const Touch& touch) {
  return touch.who() >= kSeveralOfWarp ? touch.who() - kSeveralOfWarp : touch.who() / kWarpLanes;
}

inline bool is_ordered(const Touch& earlier, const Touch& now) {
  if (earlier.barriers() < now.barriers() || earlier.who() == now.who()) return true;
  if (earlier.is_atomic() && now.is_atomic()) return true;
  if (earlier.who() == kSeveral) return false;
  return warp_of(earlier) == warp_of(now) && earlier.warp_syncs() < now.warp_syncs();
}

// What stands for both readings when something is written later.
inline Touch both(const Touch& earlier, const Touch& now) {
  if (is_ordered(earlier, now)) return now;
  const bool is_same_warp = earlier.who() != kSeveral && warp_of(earlier) == warp_of(now);
  return now.by(is_same_warp ? kSeveralOfWarp + warp_of(now) : kSeveral);
}

std::string thread_name(const Touch& touch) {
  if (touch.who() == kSeveral) return "several threads";
  if (touch.who() >= kSeveralOfWarp)
    return "several threads of warp " + std::to_string(warp_of(touch));
  return "thread " + std::to_string(touch.who());
}

void tell(Finding::Kind kind, const void* at, std::size_t bytes, Access access,
          const std::string& why) {
  const char* verb = access == Access::read    ? "reads "
                     : access == Access::write ? "writes "
                                               : "changes ";
  report(kind, verb + std::to_string(bytes) + " bytes at byte " +
                   std::to_string(static_cast<const std::byte*>(at) - shared_bytes()) +
                   " of shared memory" + why);
}

// What an access makes of a byte's history; false: it was told instead.
inline bool touch(History& byte, const Touch& now, const void* at, std::size_t bytes,
                  Access access) {
  const auto tell_race = [&](const Touch& earlier, const char* did) {
    tell(Finding::Kind::shared_race, at, bytes, access,
         ", which " + thread_name(earlier) + did + ": no barrier is between them");
    return false;
  };
  if (access != Access::write && is_of_nobody(byte.written)) {
    tell(Finding::Kind::uninitialised, at, bytes, access, ": nobody wrote it");
    return false;
  }
  if (!is_ordered(byte.written, now)) return tell_race(byte.written, " wrote");
  if (access == Access::read) {
    byte.read = both(byte.read, now);
    return true;
  }
  if (!is_ordered(byte.read, now)) return tell_race(byte.read, " read");
  byte.written = now;
  return true;
}

}  // namespace

void begin_shared(std::size_t bytes) {
  the_shared.n_bytes = bytes;
  the_shared.first_of_block = ++the_shared.barriers;
  the_shared.warp_syncs = {};
}
void shared_barrier() {
  ++the_shared.barriers;
  the_shared.warp_syncs = {};
}
void shared_warp_sync(unsigned warp) {
  ++the_shared.warp_syncs[warp];
}

template <std::size_t kBytes>
void check_shared(const void* at, std::size_t bytes_of_range, Access access) {
  const std::size_t bytes = kBytes == 0 ? bytes_of_range : kBytes;
  Shared& all = the_shared;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - shared_bytes());
  if (offset + bytes > all.n_bytes) {
    tell(Finding::Kind::out_of_bounds, at, bytes, access,
         ", which has " + std::to_string(all.n_bytes));
    stop();
  }
  const Thread& thread = *current();
  const Touch now(all.barriers, all.warp_syncs[thread.warp()], thread.index,
                  access == Access::atomic);
  Shadow<History> shadow(all.words.data(), all.bytes.data());
  shadow.visit<kBytes>(offset, bytes,
                       [&](History& of_byte) { return touch(of_byte, now, at, bytes, access); });
}
template void check_shared<0>(const void*, std::size_t, Access);
template void check_shared<1>(const void*, std::size_t, Access);
template void check_shared<2>(const void*, std::size_t, Access);
template void check_shared<4>(const void*, std::size_t, Access);
template void check_shared<8>(const void*, std::size_t, Access);
template void check_shared<16>(const void*, std::size_t, Access);

}  // namespace simt
