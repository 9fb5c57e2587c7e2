// Rows of weights as operand A of the fp16 matrix instruction: made in the registers of the threads
// that need them, from codes as they lie, or from floats. For .cu files.
//   numbers  a row's values times its factor (row_factors.cu), rounded to fp16; of codes first the
//            scale and minimum of a group, then code · scale + minimum with one rounding
//   order    within 16 values of a row as half_operands.h has it
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/products/product_group.h"
#include "kernels/cuda/products/thread_chunk.h"

namespace satchel::kernels::cuda {

// What a thread has of 16 rows: rows thread / 4 and thread / 4 + 8.
inline constexpr unsigned kRowsOfThread = 2;
using HalfStep = std::uint32_t[kStepValues / 16][4];  // operand A of a step's two instructions

// Tiles: a thread's part of a chunk.
template <WeightType kType>
class HalfRows {
 public:
  // kTileRows rows from tile · kTileRows on, of a tile that is there.
  template <class Group>  // ProductGroup, or one with its plan and n_in
  __device__ __forceinline__ void load(const Group& group, const ProductPart& part, unsigned tile,
                                       unsigned chunk) {
    const unsigned thread = threadIdx.x % kWarp;
    chunk_.template load<Reads::again>(
        ThreadPlanes<kType>(part.bytes + std::size_t{tile} * group.plan.tile_bytes, group.plan,
                            chunk, thread, thread / 4));
  }
  __device__ __forceinline__ void step(unsigned s, const float (&factors)[kRowsOfThread],
                                       HalfStep& a) const {
    constexpr TileShape kShape = tile_shape(kType);
    constexpr unsigned kGroups = kStepValues / kShape.group_values;
    const __half2 less = __float2half2_rn(static_cast<float>(1024 + kShape.offset));
    std::uint32_t codes[4];
    chunk_.codes.step(s, codes);
#pragma unroll
    for (unsigned i = 0; i < kRowsOfThread; ++i) {
      __half2 scale[kGroups], minimum[kGroups];
      for (unsigned g = 0; g < kGroups; ++g) {
        scale[g] = __float2half2_rn(chunk_.scales[i].scale(s * kGroups + g) * factors[i]);
        minimum[g] = __float2half2_rn(chunk_.scales[i].minimum(s * kGroups + g) * factors[i]);
      }
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const std::uint32_t four = codes[2 * half + i];
        for (unsigned p = 0; p < 2; ++p) {
          // 0x6400 is 1024 in fp16, and a byte below it is added
          const std::uint32_t above = __byte_perm(four, 0x64646464u, p == 0 ? 0x4140u : 0x4342u);
          const __half2 pair = __hsub2(as_halves(above), less);
          const unsigned g = kGroups == 1 ? 0 : half;
          a[half][i + 2 * p] = as_pair(kShape.has_minimum ? __hfma2(pair, scale[g], minimum[g])
                                                          : __hmul2(pair, scale[g]));
        }
      }
    }
  }

 private:
  ThreadChunk<kType> chunk_ = {};
};

// Floats, four values at a time: n_in is a multiple of 4.
template <class Bits>
class FloatRows {
 public:
  template <class Group>  // ProductGroup, or one with its plan and n_in
  __device__ __forceinline__ void load(const Group& group, const ProductPart& part, unsigned tile,
                                       unsigned chunk) {
    const unsigned thread = threadIdx.x % kWarp, first = chunk * kChunkValues + thread % 4 * 4;
#pragma unroll
    for (unsigned i = 0; i < kRowsOfThread; ++i) {
      const unsigned row = tile * kTileRows + thread / 4 + 8 * i;
      const auto* from =
          reinterpret_cast<const Bits*>(part.bytes) + std::size_t{row} * group.n_in + first;
#pragma unroll
      for (unsigned f = 0; f < kFours; ++f) {
        const bool is_there = row < part.n_out && first + f * 16 < group.n_in;
        fours_[i][f] = is_there ? *reinterpret_cast<const Words*>(from + f * 16) : Words{};
      }
    }
  }

 protected:
  static constexpr unsigned kFours = kChunkValues / 16;
  struct alignas(4 * sizeof(Bits)) Words {
    Bits at[4];
  };
  Words fours_[kRowsOfThread][kFours] = {};

  template <class Value>  // of bits
  __device__ __forceinline__ void step_of(unsigned s, const float (&factors)[kRowsOfThread],
                                          HalfStep& a, const Value& value) const {
#pragma unroll
    for (unsigned i = 0; i < kRowsOfThread; ++i)
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const Words& four = fours_[i][2 * s + half];
        for (unsigned p = 0; p < 2; ++p)
          a[half][i + 2 * p] = nearest_pair(value(four.at[2 * p]) * factors[i],
                                            value(four.at[2 * p + 1]) * factors[i]);
      }
  }
};
template <>
class HalfRows<WeightType::f32> : public FloatRows<float> {
 public:
  __device__ __forceinline__ void step(unsigned s, const float (&factors)[kRowsOfThread],
                                       HalfStep& a) const {
    step_of(s, factors, a, [](float x) { return x; });
  }
};
template <>
class HalfRows<WeightType::f16> : public FloatRows<std::uint16_t> {
 public:
  __device__ __forceinline__ void step(unsigned s, const float (&factors)[kRowsOfThread],
                                       HalfStep& a) const {
    step_of(s, factors, a, [](std::uint16_t x) { return half_value(x); });
  }
};
template <>
class HalfRows<WeightType::bf16> : public FloatRows<std::uint16_t> {
 public:
  __device__ __forceinline__ void step(unsigned s, const float (&factors)[kRowsOfThread],
                                       HalfStep& a) const {
    step_of(s, factors, a, [](std::uint16_t x) { return __uint_as_float(std::uint32_t{x} << 16); });
  }
};

}  // namespace satchel::kernels::cuda
