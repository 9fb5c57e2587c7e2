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

// Not by way of _Float16, for which the machine the tests are built for has no instruction.
inline float __half2float(__half a) {
  const unsigned size = (a.bits & 0x7fffu) << 13, sign = (a.bits & 0x8000u) << 16;
  if (size >= 0x7c00u << 13) return __builtin_bit_cast(float, sign | 0x7f800000u | size);
  const float value = __builtin_bit_cast(float, size) * 0x1p112f;  // exact, subnormal ones too
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(unsigned, value));
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
inline __half2 __floats2half2_rn(float a, float b) {
  return {__float2half_rn(a), __float2half_rn(b)};
}
inline __half2 __float2half2_rn(float a) {
  return __floats2half2_rn(a, a);
}
// Products of halves are exact in fp32, their sum with a half in fp64: rounded once, as on a card.
inline __half2 __hmul2(__half2 a, __half2 b) {
  return __floats2half2_rn(__half2float(a.x) * __half2float(b.x),
                           __half2float(a.y) * __half2float(b.y));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  const auto fma = [](__half x, __half y, __half z) -> __half {
    const double exact =
        static_cast<double>(__half2float(x)) * static_cast<double>(__half2float(y)) +
        static_cast<double>(__half2float(z));
    return {__builtin_bit_cast(unsigned short, static_cast<_Float16>(exact))};
  };
  return {fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)};
}
