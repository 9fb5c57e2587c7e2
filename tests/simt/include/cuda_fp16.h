// Stands in for CUDA's header of this name: half precision as a card rounds it, for code that runs
// in the executor. Only what our kernels use.
#pragma once

#include <cstdint>

struct __half {
  unsigned short bits;
};
struct __half2 {
  __half x, y;
};

inline float __half2float(__half a) {
  return static_cast<float>(__builtin_bit_cast(_Float16, a.bits));
}
inline __half __float2half_rn(float a) {
  return {__builtin_bit_cast(unsigned short, static_cast<_Float16>(a))};
}
inline __half __ushort_as_half(unsigned short a) {
  return {a};
}
inline unsigned short __half_as_ushort(__half a) {
  return a.bits;
}
inline __half2 __hsub2(__half2 a, __half2 b) {
  return {__float2half_rn(__half2float(a.x) - __half2float(b.x)),
          __float2half_rn(__half2float(a.y) - __half2float(b.y))};
}
