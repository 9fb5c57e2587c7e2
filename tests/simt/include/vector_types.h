// CUDA's vectors, aligned as there, and copied by one access of memory, as there: g++ would take
// the members of a plain struct one by one.
#pragma once

#include <cstdint>

#include "simt/dim3.h"

using dim3 = simt::Dim3;

namespace simt {

typedef std::uint64_t Bits8 __attribute__((may_alias));
typedef std::uint32_t Bits16 __attribute__((vector_size(16), may_alias));

}  // namespace simt

#define SIMT_COPIED_AS(name, Bits)                                          \
  name() = default;                                                         \
  name(const name& from) {                                                  \
    *reinterpret_cast<Bits*>(this) = *reinterpret_cast<const Bits*>(&from); \
  }                                                                         \
  name& operator=(const name& from) {                                       \
    *reinterpret_cast<Bits*>(this) = *reinterpret_cast<const Bits*>(&from); \
    return *this;                                                           \
  }
#define SIMT_PAIR(name, T)                     \
  struct alignas(8) name {                     \
    T x, y;                                    \
    name(T of_x, T of_y) : x(of_x), y(of_y) {} \
    SIMT_COPIED_AS(name, simt::Bits8)          \
  };
#define SIMT_FOUR(name, T)                                                       \
  struct alignas(16) name {                                                      \
    T x, y, z, w;                                                                \
    name(T of_x, T of_y, T of_z, T of_w) : x(of_x), y(of_y), z(of_z), w(of_w) {} \
    SIMT_COPIED_AS(name, simt::Bits16)                                           \
  };
SIMT_PAIR(uint2, unsigned)
SIMT_PAIR(float2, float)
SIMT_FOUR(uint4, unsigned)
SIMT_FOUR(float4, float)
#undef SIMT_FOUR
#undef SIMT_PAIR
#undef SIMT_COPIED_AS
