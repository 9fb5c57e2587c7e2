#include "coverage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "target.h"

namespace {
constexpr std::size_t kSlots = 1 << 15;
// Not of a class: the callback is called from everywhere and may call nothing that is instrumented.
std::array<std::uint8_t, kSlots> rounds{};
std::array<std::uint8_t, kSlots>
    seen{};  // bit b: the slot was hit 2^b to 2^(b+1) - 1 times in one input
std::uint64_t last_place = 0;
}  // namespace

// Called by the compiler's instrumentation at the begin of every block.
extern "C" void __sanitizer_cov_trace_pc() {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_return_address(0)) -
                    reinterpret_cast<std::uint64_t>(&LLVMFuzzerTestOneInput);
  const std::uint64_t place = (here * 0x9e3779b97f4a7c15u) >> 49;  // 15 bits
  std::uint8_t& count = rounds[place ^ last_place];
  if (count != 255) ++count;
  last_place = place >> 1;
}

namespace satchel::fuzz {

void start_coverage() {
  rounds.fill(0);
  last_place = 0;
}

bool reached_something_new() {
  bool any = false;
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (rounds[i] == 0) continue;
    const auto bit = static_cast<std::uint8_t>(1u << (std::bit_width(rounds[i]) - 1));
    any = any || (seen[i] & bit) == 0;
    seen[i] |= bit;
  }
  return any;
}

std::size_t edges_reached() {
  return static_cast<std::size_t>(
      std::count_if(seen.begin(), seen.end(), [](std::uint8_t bits) { return bits != 0; }));
}

}  // namespace satchel::fuzz
