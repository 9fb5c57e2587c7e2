// For functions of units that are compiled for one instruction level: always inlined and never
// with external linkage, since the linker might keep the copy of another level.
#pragma once

#include <cstddef>

#define SATCHEL_INLINE [[gnu::always_inline]] static inline

namespace satchel::kernels::cpu {
namespace {

template <std::size_t kValue>
struct Index {
  static constexpr std::size_t value = kValue;
};

template <std::size_t kFirst, std::size_t kEnd, class Body>
SATCHEL_INLINE void unroll(const Body& body) {
  if constexpr (kFirst < kEnd) {
    body(Index<kFirst>{});
    unroll<kFirst + 1, kEnd>(body);
  }
}

}  // namespace
}  // namespace satchel::kernels::cpu
