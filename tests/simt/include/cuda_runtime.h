// Stands in for CUDA's header of this name, so that kernels and the code that launches them compile
// for the host and run in the executor. Only what we use; what is missing does not compile.
//   device  qualifiers, the places of a thread, barriers, operations of a warp, atomics, arithmetic
//   host    memory, streams (each call is done when it returns), events, launches, errors
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simt/block.h"
#include "simt/memory.h"
#include "simt/warp.h"
#include "vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

// Of the thread that runs; the scheduler sets them.
extern simt::Dim3 threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() {
  simt::barrier();
}
inline void __syncwarp(unsigned mask = ~0u) {
  simt::sync_warp(mask);
}
inline void __threadfence() {
  simt::fence();
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  return simt::shuffle(mask, value, static_cast<unsigned>(lane) % 32);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return simt::shuffle(mask, value, (threadIdx.x % 32) ^ static_cast<unsigned>(lanes));
}
inline unsigned __ballot_sync(unsigned mask, int is) {
  return simt::ballot(mask, is != 0);
}

template <class T>
T __ldcs(const T* at) {  // a hint to caches, no more
  return *at;
}

template <class T>
T atomicAdd(T* at, T by) {
  return simt::atomic(at, by, [](T old, T more) { return static_cast<T>(old + more); });
}

inline float __fdividef(float a, float b) {
  return a / b;
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
// Bytes of b:a by the low three bits of each nibble of the selector.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  unsigned out = 0;
  for (unsigned i = 0; i < 4; ++i)
    out |= static_cast<unsigned>(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return out;
}
inline int __float2int_rn(float x) {
  return static_cast<int>(std::nearbyintf(x));
}
// Sine and cosine of pi · x.
inline void sincospif(float x, float* sine, float* cosine) {
  const double angle = 3.14159265358979323846 * static_cast<double>(x);
  *sine = static_cast<float>(std::sin(angle));
  *cosine = static_cast<float>(std::cos(angle));
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}

#include "simt/runtime_api.h"
