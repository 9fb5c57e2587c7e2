// Four values of a token's row as products take them: as they are, normed or gated. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/products/operands.h"
#include "kernels/cuda/rows/row_math.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kFour = 4;
struct Four {
  float at[kFour];
};
__device__ __forceinline__ Four four_at(const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  return {four.x, four.y, four.z, four.w};
}
// Bits of magnitudes rise with them, infinity and NaN last.
inline constexpr unsigned kInfinityBits = 0x7f800000u;
__device__ __forceinline__ unsigned magnitude_bits(float x) {
  return __float_as_uint(x) & 0x7fffffffu;
}
__device__ __forceinline__ unsigned larger(unsigned a, unsigned b) {
  return b > a ? b : a;
}
__device__ __forceinline__ unsigned warp_largest(unsigned bits) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    bits = larger(bits, __shfl_xor_sync(~0u, bits, distance));
  return bits;
}
__device__ __forceinline__ unsigned largest_bits(const Four& four) {
  unsigned bits = 0;
  for (const float value : four.at) bits = larger(bits, magnitude_bits(value));
  return bits;
}

// Made by blocks of kRowThreads, whose shared memory begins with BlockSums<kRowThreads>, before
// threads part: a sum of the row may be needed. keep() writes what others than products need.
struct Plain {
  __device__ Plain(const Activations& all, unsigned token, unsigned n_in)
      : row(all.x + std::size_t{token} * n_in) {}
  __device__ Four values(unsigned k) const { return four_at(row + k); }
  __device__ void keep(unsigned, const Four&) const {}
  const float* row;
};
struct Normed {
  __device__ Normed(const Activations& all, unsigned token, unsigned n_in)
      : row(all.x + std::size_t{token} * n_in),
        out(all.normed + std::size_t{token} * n_in),
        gain(all.gain),
        factor(norm_factor(row, n_in, all.epsilon, shared_memory<BlockSums<kRowThreads>>())) {}
  __device__ Four values(unsigned k) const {
    Four four = four_at(row + k);
    for (unsigned i = 0; i < kFour; ++i) four.at[i] = four.at[i] * factor * gain[k + i];
    return four;
  }
  __device__ void keep(unsigned k, const Four& four) const {
    *reinterpret_cast<float4*>(out + k) = {four.at[0], four.at[1], four.at[2], four.at[3]};
  }
  const float* row;
  float* out;
  const float* gain;
  float factor;
};
template <Activation kActivation>
struct Glu {
  __device__ Glu(const Activations& all, unsigned token, unsigned n_in)
      : gate(all.x + std::size_t{token} * n_in), up(all.up + std::size_t{token} * n_in) {}
  __device__ Four values(unsigned k) const {
    Four four = four_at(gate + k);
    const Four beside = four_at(up + k);
    for (unsigned i = 0; i < kFour; ++i) four.at[i] = gated<kActivation>(four.at[i], beside.at[i]);
    return four;
  }
  __device__ void keep(unsigned, const Four&) const {}
  const float *gate, *up;
};

template <class Source>
struct SourceType {
  using type = Source;
};
// call(SourceType<that of `from`>()).
template <class Call>
cudaError_t with_source(const Activations& from, const Call& call) {
  if (from.gain != nullptr) return call(SourceType<Normed>());
  if (from.up == nullptr) return call(SourceType<Plain>());
  if (from.activation == Activation::silu) return call(SourceType<Glu<Activation::silu>>());
  if (from.activation == Activation::clamped_silu)
    return call(SourceType<Glu<Activation::clamped_silu>>());
  if (from.activation == Activation::sigmoid || from.activation == Activation::relu)
    return cudaErrorInvalidValue;
  return call(SourceType<Glu<Activation::gelu_tanh>>());
}

}  // namespace satchel::kernels::cuda
