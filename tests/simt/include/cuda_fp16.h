// Stands in for CUDA's header of this name: half precision as a card rounds it, for code that runs
// in the executor. Only what our kernels use.
#pragma once

#include <cmath>
#include <cstdint>

#include "vector_types.h"

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
inline __half __float2half_ru(float a) {
  _Float16 rounded = static_cast<_Float16>(a);
  unsigned short bits = __builtin_bit_cast(unsigned short, rounded);
  if (static_cast<float>(rounded) < a) bits = (bits & 0x8000) != 0 ? bits - 1 : bits + 1;
  return {bits};
}
inline __half __ushort_as_half(unsigned short a) {
  return {a};
}
inline unsigned short __half_as_ushort(__half a) {
  return a.bits;
}
inline __half2 __halves2half2(__half a, __half b) {
  return {a, b};
}
inline __half2 __floats2half2_rn(float a, float b) {
  return {__float2half_rn(a), __float2half_rn(b)};
}
inline float2 __half22float2(__half2 a) {
  return {__half2float(a.x), __half2float(a.y)};
}
inline __half __hmul(__half a, __half b) {
  return __float2half_rn(__half2float(a) * __half2float(b));  // the product is exact in fp32
}
inline __half2 __hmul2(__half2 a, __half2 b) {
  return {__hmul(a.x, b.x), __hmul(a.y, b.y)};
}
inline __half2 __hsub2(__half2 a, __half2 b) {
  return {__float2half_rn(__half2float(a.x) - __half2float(b.x)),
          __float2half_rn(__half2float(a.y) - __half2float(b.y))};
}
