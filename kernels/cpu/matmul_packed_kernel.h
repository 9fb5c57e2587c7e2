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
  static constexpr std::size_t kCodeBytes = kShape.code_bytes();
  static constexpr std::size_t kBlockBytes = kShape.block_bytes();
  using Int = typename V::Int;
  using Float = typename V::Float;

  // The pairs 4 · quad … 4 · quad + 3, as words, of the rows from first_row on.
  SATCHEL_INLINE void code_words(const std::byte* block, std::size_t first_row, std::size_t quad,
                                 Int* words) {
    if constexpr (kShape.code_bits == 8) {
      const std::byte* at = block + quad * 2 * kVectorBytes + first_row * 2;
      unroll<0, 4>([&](auto i) SATCHEL_INLINE_LAMBDA {
        words[i] = V::load_bytes(at + i * kVectorBytes / 2);
      });
      return;
    }
    const std::byte* at = block + first_row * 4;
    const Int low = V::load(at + quad * kVectorBytes);
    Int high = V::zero();  // the upper bits of pair i at bit kHighBits * i
    constexpr int kHighBits = kShape.code_bits - 4;
    if constexpr (kHighBits == 1)
      high = V::shift_right_by(V::load(at + 4 * kVectorBytes), static_cast<int>(4 * quad));
    if constexpr (kHighBits == 2)
      high = V::shift_right_by(V::load(at + (4 + quad / 2) * kVectorBytes),
                               static_cast<int>(quad % 2 * 8));
    unroll<0, 4>([&](auto i) SATCHEL_INLINE_LAMBDA {
      constexpr int kPair = static_cast<int>(decltype(i)::value);
      words[i] = V::template shift_right<4 * kPair>(low);
      if constexpr (kPair != 3) words[i] = V::and_(words[i], V::words(15));
      if constexpr (kHighBits > 0) {
        const Int placed = V::template shift_right<kHighBits * kPair - 4>(high);
        words[i] = V::or_(words[i], V::and_(placed, V::words(kHighBits == 1 ? 16 : 48)));
      }
    });
  }

  SATCHEL_INLINE Float scale_at(const std::byte* scales, std::size_t which, std::size_t first_row) {
    const std::byte* at = scales + which * kScaleStride;
    if constexpr (kShape.half_scales)
      return V::load_half(at + first_row * 2);
    else
      return V::load_float(at + first_row * 4);
  }

  // kVectors registers of rows against kTokens tokens.
  template <std::size_t kVectors, std::size_t kTokens>
  struct Tile {
    static constexpr std::size_t kChains = kVectors * kTokens < 4 ? 2 : 1;  // hide the latency
    static constexpr std::size_t kQuadsOfScale = kBlockPairs / 4 / kShape.scales;
    Float total[kVectors][kTokens];

    [[gnu::always_inline]] inline void start() {
      unroll_both<kVectors, kTokens>([&](auto v, auto t)
                                         SATCHEL_INLINE_LAMBDA { total[v][t] = V::zero_float(); });
    }

    // The values of one block that share the scale kScale.
    template <std::size_t kScale>
    [[gnu::always_inline]] inline void add_products(const std::byte* codes, const std::byte* scales,
                                                    const std::int32_t* pairs,
                                                    const std::int32_t* words) {
      Int sum[kChains][kVectors][kTokens];
      unroll_both<kVectors, kTokens>([&](auto v, auto t) SATCHEL_INLINE_LAMBDA {
        sum[0][v][t] =
            kShape.offset == 0 ? V::zero() : V::broadcast(words + (1 + kScale) * kTokens + t);
        if constexpr (kChains == 2) sum[1][v][t] = V::zero();
      });
      for (std::size_t quad = kScale * kQuadsOfScale; quad < (kScale + 1) * kQuadsOfScale; ++quad) {
        Int code[kVectors][4];
        unroll<0, kVectors>(
            [&](auto v) SATCHEL_INLINE_LAMBDA { code_words(codes, v * V::kLanes, quad, code[v]); });
        const std::int32_t* x = pairs + quad * 4 * kTokens;
        unroll<0, 4>([&](auto i) SATCHEL_INLINE_LAMBDA {
          unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
            Int& s = sum[i % kChains][v][t];
            s = V::dot(s, code[v][i], V::broadcast(x + i * kTokens + t));
          });
        });
      }
      Float scale[kVectors];
      unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
        scale[v] = scale_at(scales, kScale, v * V::kLanes);
      });
      unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
        Int s = sum[0][v][t];
        if constexpr (kChains == 2) s = V::add(s, sum[1][v][t]);
        const Float factor = V::mul(scale[v], V::broadcast_float(words + t));
        total[v][t] = V::fma(V::to_float(s), factor, total[v][t]);
      });
    }

    [[gnu::always_inline]] inline void add_minima(const std::byte* scales,
                                                  const std::int32_t* words) {
      Float minimum[kVectors];
      unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
        minimum[v] = scale_at(scales, kShape.scales, v * V::kLanes);
      });
      unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
        const Float weighted = V::broadcast_float(words + 2 * kTokens + t);
        total[v][t] = V::fma(minimum[v], weighted, total[v][t]);
      });
    }
  };

  // All blocks, for the rows from first_row on.
  template <std::size_t kVectors, std::size_t kTokens>
  static void rows(const PackedJob& job, std::size_t first_row, const std::int32_t* pairs,
                   const std::int32_t* words, float* out, std::size_t out_stride) {
    const std::byte* codes = job.group + first_row * (kShape.code_bits == 8 ? 2 : 4);
    const std::byte* scales = job.group + kCodeBytes + first_row * (kShape.half_scales ? 2 : 4);
    Tile<kVectors, kTokens> tile;
    tile.start();
    for (std::size_t b = 0; b < job.n_blocks; ++b) {
      if constexpr (kTokens == 1)
        for (std::size_t line = 0; line < kBlockBytes; line += 64)
          __builtin_prefetch(codes + kPrefetchBytes + line);
      tile.template add_products<0>(codes, scales, pairs, words);
      if constexpr (kShape.scales == 2) tile.template add_products<1>(codes, scales, pairs, words);
      if constexpr (kShape.has_minimum) tile.add_minima(scales, words);
      codes += kBlockBytes;
      scales += kBlockBytes;
      pairs += kBlockPairs * kTokens;
      words += kBlockWords * kTokens;
    }
    unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
      V::store(out + t * out_stride + v * V::kLanes, tile.total[v][t]);
    });
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
      rows<kVectors, kTokens>(job, row, pairs, words, to + row, stride);
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
    const auto tiles_of = [&](auto tokens) SATCHEL_INLINE_LAMBDA {
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
