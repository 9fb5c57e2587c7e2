// The product of one group of 16 repacked rows with tiles of 16-bit activations, written once over
// the registers `V` of a level (simd_avx2.h, simd_avx512.h). Layouts: packed_weight.h,
// matmul_table.h.
//   sums     exact in int32 over a block (code <= 128, activation <= 32767, 32 values: < 2^28),
//            then fp32 over blocks in rising order: the same bits for every tile and every level
//   tile     a register of weights is unpacked once and meets all tokens of the tile
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/matmul_table.h"
#include "kernels/cpu/packed_shape.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V, WeightType kType>
struct PackedKernel {
  static constexpr PackedShape kShape = packed_shape(kType);
  static constexpr std::size_t kVectorBytes = 64;  // 16 rows, two words each
  static constexpr std::size_t kScaleStride = kGroupRows * (kShape.half_scales ? 2 : 4);
  static constexpr std::size_t kCodeBytes = kShape.code_bytes(), kScaleBytes = kShape.scale_bytes();
  using Int = typename V::Int;
  using Float = typename V::Float;

  // The pair kPair of rows first_row …, as words.
  template <std::size_t kPair>
  SATCHEL_INLINE Int code_words(const std::byte* block, std::size_t first_row) {
    if constexpr (kShape.code_bits == 8) {
      return V::load_bytes(block + kPair * kVectorBytes / 2 + first_row * 2);
    } else {
      const std::byte* at = block + first_row * 4;
      const Int all = V::load(at + kPair / 4 * kVectorBytes);
      Int low = V::template shift_right<static_cast<int>(kPair % 4 * 4)>(all);
      if constexpr (kPair % 4 != 3) low = V::and_(low, V::words(15));
      if constexpr (kShape.code_bits == 4) {
        return low;
      } else if constexpr (kShape.code_bits == 5) {
        const Int plane = V::load(at + 4 * kVectorBytes);
        return V::or_(low, V::and_(V::template shift_right<static_cast<int>(kPair) - 4>(plane),
                                   V::words(16)));
      } else {
        const Int plane = V::load(at + (4 + kPair / 8) * kVectorBytes);
        return V::or_(low,
                      V::and_(V::template shift_right<static_cast<int>(kPair % 8 * 2) - 4>(plane),
                              V::words(48)));
      }
    }
  }

  SATCHEL_INLINE Float scale_at(const std::byte* scales, std::size_t which, std::size_t first_row) {
    const std::byte* at = scales + which * kScaleStride;
    if constexpr (kShape.half_scales)
      return V::load_half(at + first_row * 2);
    else
      return V::load_float(at + first_row * 4);
  }

  // kVectors registers of rows against kTokens tokens, all blocks.
  template <std::size_t kVectors, std::size_t kTokens>
  static void tile(const PackedJob& job, std::size_t first_row, const std::int32_t* pairs,
                   const std::int32_t* words, float* out, std::size_t out_stride) {
    constexpr std::size_t kChains = kVectors * kTokens < 4 ? 2 : 1;  // hides the latency of one sum
    constexpr std::size_t kPairsOfScale = kBlockPairs / kShape.scales;
    Float total[kVectors][kTokens];
    for (std::size_t v = 0; v < kVectors; ++v)
      for (std::size_t t = 0; t < kTokens; ++t) total[v][t] = V::zero_float();
    const std::byte* codes = job.codes;
    const std::byte* scales = job.scales;
    for (std::size_t b = 0; b < job.n_blocks; ++b) {
      unroll<0, kShape.scales>([&](auto scale) __attribute__((always_inline)) {
        constexpr std::size_t kScale = decltype(scale)::value;
        Int sum[kChains][kVectors][kTokens];
        for (std::size_t v = 0; v < kVectors; ++v)
          for (std::size_t t = 0; t < kTokens; ++t) {
            sum[0][v][t] =
                kShape.offset == 0 ? V::zero() : V::broadcast(words + (1 + kScale) * kTokens + t);
            if constexpr (kChains == 2) sum[1][v][t] = V::zero();
          }
        unroll<kScale * kPairsOfScale, (kScale + 1) * kPairsOfScale>([&](
            auto pair) __attribute__((always_inline)) {
          constexpr std::size_t kPair = decltype(pair)::value;
          Int code[kVectors];
          for (std::size_t v = 0; v < kVectors; ++v)
            code[v] = code_words<kPair>(codes, first_row + v * V::kLanes);
          for (std::size_t t = 0; t < kTokens; ++t) {
            const Int x = V::broadcast(pairs + kPair * kTokens + t);
            for (std::size_t v = 0; v < kVectors; ++v) {
              Int& s = sum[kPair % kChains][v][t];
              s = V::dot(s, code[v], x);
            }
          }
        });
        for (std::size_t v = 0; v < kVectors; ++v) {
          const std::size_t row = first_row + v * V::kLanes;
          const Float scale_of_rows = scale_at(scales, kScale, row);
          for (std::size_t t = 0; t < kTokens; ++t) {
            Int s = sum[0][v][t];
            if constexpr (kChains == 2) s = V::add(s, sum[1][v][t]);
            const Float factor = V::mul(scale_of_rows, V::broadcast_float(words + t));
            total[v][t] = V::fma(V::to_float(s), factor, total[v][t]);
          }
          if constexpr (kShape.has_minimum) {
            const Float minimum = scale_at(scales, kShape.scales, row);
            for (std::size_t t = 0; t < kTokens; ++t)
              total[v][t] =
                  V::fma(minimum, V::broadcast_float(words + 2 * kTokens + t), total[v][t]);
          }
        }
      });
      codes += kCodeBytes;
      scales += kScaleBytes;
      pairs += kBlockPairs * kTokens;
      words += kBlockWords * kTokens;
    }
    for (std::size_t t = 0; t < kTokens; ++t)
      for (std::size_t v = 0; v < kVectors; ++v)
        V::store(out + t * out_stride + v * V::kLanes, total[v][t]);
  }

  // All 16 rows; a group that is not full goes through a buffer.
  template <std::size_t kTokens>
  static void group(const PackedJob& job, const std::int32_t* pairs, const std::int32_t* words,
                    float* out) {
    constexpr std::size_t kVectors = V::template vectors<kTokens>();
    float whole[kTokens * kGroupRows];
    const bool full = job.n_rows == kGroupRows;
    float* to = full ? out : whole;
    const std::size_t stride = full ? job.out_stride : kGroupRows;
    for (std::size_t row = 0; row < kGroupRows; row += V::kLanes * kVectors)
      tile<kVectors, kTokens>(job, row, pairs, words, to + row, stride);
    if (full) return;
    for (std::size_t t = 0; t < kTokens; ++t)
      __builtin_memcpy(out + t * job.out_stride, whole + t * kGroupRows,
                       job.n_rows * sizeof(float));
  }

  static void run(const PackedJob& job) {
    const std::int32_t* pairs = job.x.pairs;
    const std::int32_t* words = job.x.words;
    float* out = job.out;
    std::size_t left = job.n_tokens;
    const auto tiles_of = [&](auto tokens) __attribute__((always_inline)) {
      constexpr std::size_t kTokens = decltype(tokens)::value;
      for (; left >= kTokens; left -= kTokens) {
        group<kTokens>(job, pairs, words, out);
        pairs += job.n_blocks * kBlockPairs * kTokens;
        words += job.n_blocks * kBlockWords * kTokens;
        out += kTokens * job.out_stride;
      }
    };
    tiles_of(Index<V::kTile>{});
    if constexpr (V::kTile > 4) tiles_of(Index<4>{});
    tiles_of(Index<2>{});
    tiles_of(Index<1>{});
  }
};

template <class V>
void matmul_packed(const PackedJob& job) {
  switch (job.type) {
    case WeightType::q4_0:
      return PackedKernel<V, WeightType::q4_0>::run(job);
    case WeightType::q4_1:
      return PackedKernel<V, WeightType::q4_1>::run(job);
    case WeightType::q5_0:
      return PackedKernel<V, WeightType::q5_0>::run(job);
    case WeightType::q5_1:
      return PackedKernel<V, WeightType::q5_1>::run(job);
    case WeightType::q8_0:
      return PackedKernel<V, WeightType::q8_0>::run(job);
    case WeightType::q4_k:
      return PackedKernel<V, WeightType::q4_k>::run(job);
    case WeightType::q6_k:
      return PackedKernel<V, WeightType::q6_k>::run(job);
    case WeightType::f32:
    case WeightType::f16:
    case WeightType::bf16:
      break;
  }
  __builtin_trap();  // the driver sends no other type
}

}  // namespace
}  // namespace satchel::kernels::cpu
