// For functions of units that are compiled for one instruction level: always inlined and never
// with external linkage, since the linker might keep the copy of another level.
//   unroll  loops over registers are unrolled here and not left to the optimiser: g++ at -O2 keeps
//           a small array that is indexed by a loop in memory, three times slower
#pragma once

#include <cstddef>

#define SATCHEL_INLINE [[gnu::always_inline]] static inline
#define SATCHEL_INLINE_LAMBDA __attribute__((always_inline))

namespace satchel::kernels::cpu {
namespace {

// A number known to the compiler, usable as an index.
template <std::size_t kValue>
struct Index {
  static constexpr std::size_t value = kValue;
  constexpr operator std::size_t() const { return kValue; }
};

template <std::size_t kFirst, std::size_t kEnd, class Body>
SATCHEL_INLINE void unroll(const Body& body) {
  if constexpr (kFirst < kEnd) {
    body(Index<kFirst>{});
    unroll<kFirst + 1, kEnd>(body);
  }
}

// body(i, j) for all i < kRows, j < kColumns.
template <std::size_t kRows, std::size_t kColumns, class Body>
SATCHEL_INLINE void unroll_both(const Body& body) {
  unroll<0, kRows * kColumns>([&](auto k) SATCHEL_INLINE_LAMBDA {
    body(Index<decltype(k)::value / kColumns>{}, Index<decltype(k)::value % kColumns>{});
  });
}

// Asks for the line of a cache that holds `at`: into L1, or no nearer than L2 (cpu_level.h).
SATCHEL_INLINE void ask_for(const void* at, bool into_l2) {
  into_l2 ? __builtin_prefetch(at, 0, 2) : __builtin_prefetch(at);
}

}  // namespace
}  // namespace satchel::kernels::cpu
