// Products of f32, f16 or bf16 rows, read in place, with fp32 tokens, written once for the
// registers `V` of all levels. Registers run along a row; kRows x kTokens sums stay in registers.
//   sums    over kDepth values in `V::kFloats` partial fp32 sums, then added up, then over the
//           parts of a row in order: the same bits for every tile, not for every level
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V, WeightType kType>
struct FloatKernel {
  static constexpr std::size_t kValueBytes = kType == WeightType::f32 ? 4 : 2;
  static constexpr std::size_t kRowTile = 4;
  static constexpr std::size_t kDepth = 768;  // values: 6 tokens and 4 rows of them fill 30 KiB
  using Float = typename V::Float;

  SATCHEL_INLINE Float load(const std::byte* at) {
    if constexpr (kType == WeightType::f32)
      return V::load_float(at);
    else if constexpr (kType == WeightType::f16)
      return V::load_half(at);
    else
      return V::load_bfloat(at);
  }
  // The last n < kFloats values, the rest zeros.
  SATCHEL_INLINE Float load_tail(const std::byte* at, std::size_t n) {
    alignas(64) std::byte whole[V::kFloats * kValueBytes] = {};
    __builtin_memcpy(whole, at, n * kValueBytes);
    return load(whole);
  }
  SATCHEL_INLINE Float load_tail(const float* at, std::size_t n) {
    alignas(64) float whole[V::kFloats] = {};
    __builtin_memcpy(whole, at, n * sizeof(float));
    return V::load_float(whole);
  }

  // (a0 + a2) + (a1 + a3), as V::sum adds the last four, for four registers at once.
  SATCHEL_INLINE __m128 sum_of_each(__m128 a, __m128 b, __m128 c, __m128 d) {
    const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    return _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
  }

  // Adds the products over values [first, first + n) of a row to out; the first part sets it.
  template <std::size_t kRows, std::size_t kTokens>
  static void tile(const FloatJob& job, const std::byte* rows, const float* x, float* out,
                   std::size_t first, std::size_t n) {
    const std::size_t row_bytes = job.n_in * kValueBytes;
    Float total[kRows][kTokens];
    unroll_both<kRows, kTokens>([&](auto r, auto t)
                                    SATCHEL_INLINE_LAMBDA { total[r][t] = V::zero_float(); });
    const auto step = [&](const auto& get_x, const auto& get_row) SATCHEL_INLINE_LAMBDA {
      Float of_token[kTokens], of_row[kRows];
      unroll<0, kTokens>([&](auto t)
                             SATCHEL_INLINE_LAMBDA { of_token[t] = get_x(x + t * job.n_in); });
      unroll<0, kRows>([&](auto r)
                           SATCHEL_INLINE_LAMBDA { of_row[r] = get_row(rows + r * row_bytes); });
      unroll_both<kRows, kTokens>([&](auto r, auto t) SATCHEL_INLINE_LAMBDA {
        total[r][t] = V::fma(of_row[r], of_token[t], total[r][t]);
      });
    };
    const std::size_t end = first + n;
    std::size_t i = first;
    for (; i + V::kFloats <= end; i += V::kFloats) {
      if constexpr (kTokens == 1)
        unroll<0, kRows>([&](auto r) SATCHEL_INLINE_LAMBDA {
          if (job.ahead.bytes != 0)
            __builtin_prefetch(rows + r * row_bytes + i * kValueBytes + job.ahead.bytes);
        });
      step([&](const float* at) SATCHEL_INLINE_LAMBDA { return V::load_float(at + i); },
           [&](const std::byte* at) SATCHEL_INLINE_LAMBDA { return load(at + i * kValueBytes); });
    }
    if (i < end)
      step([&](const float* at) SATCHEL_INLINE_LAMBDA { return load_tail(at + i, end - i); },
           [&](const std::byte* at)
               SATCHEL_INLINE_LAMBDA { return load_tail(at + i * kValueBytes, end - i); });
    unroll<0, kTokens>([&](auto t) SATCHEL_INLINE_LAMBDA {
      float* to = out + t * job.out_stride;
      if constexpr (kRows == 4) {
        const __m128 sums = sum_of_each(V::fold(total[0][t]), V::fold(total[1][t]),
                                        V::fold(total[2][t]), V::fold(total[3][t]));
        _mm_storeu_ps(to, first == 0 ? sums : _mm_add_ps(_mm_loadu_ps(to), sums));
      } else {
        static_assert(kRows == 1);
        *to = (first == 0 ? 0.0f : *to) + V::sum(total[0][t]);
      }
    });
  }

  template <std::size_t kTokens>
  static void all_rows(const FloatJob& job, std::size_t token, std::size_t first, std::size_t n) {
    const std::size_t row_bytes = job.n_in * kValueBytes;
    const float* x = job.x + token * job.n_in;
    float* out = job.out + token * job.out_stride;
    std::size_t row = 0;
    for (; job.n_rows - row >= kRowTile; row += kRowTile)
      tile<kRowTile, kTokens>(job, job.rows + row * row_bytes, x, out + row, first, n);
    for (; row < job.n_rows; ++row)
      tile<1, kTokens>(job, job.rows + row * row_bytes, x, out + row, first, n);
  }

  // body(first, n) for the parts of a row.
  template <class Body>
  SATCHEL_INLINE void parts(std::size_t n_in, const Body& body) {
    for (std::size_t first = 0; first == 0 || first < n_in; first += kDepth)
      body(first, n_in - first < kDepth ? n_in - first : kDepth);
  }

  // Whole tiles of rows, so that the place asked for is read at the same place of a later tile.
  SATCHEL_INLINE std::size_t whole_tiles(std::size_t bytes, std::size_t tile_bytes) {
    return tile_bytes == 0 ? 0 : (bytes + tile_bytes - 1) / tile_bytes * tile_bytes;
  }

  // Part by part, tokens outside, rows inside: a tile of tokens stays in L1 while the rows pass.
  // The last one or two tokens read the rows as one rising stream.
  static void run(const FloatJob& job) {
    const std::size_t n_tiled = job.n_tokens / 3 * 3;
    parts(n_tiled == 0 ? 0 : job.n_in, [&](std::size_t first, std::size_t n) SATCHEL_INLINE_LAMBDA {
      std::size_t token = 0;
      for (; n_tiled - token >= V::kFloatTile; token += V::kFloatTile)
        all_rows<V::kFloatTile>(job, token, first, n);
      for (; token < n_tiled; token += 3) all_rows<3>(job, token, first, n);
    });
    for (std::size_t token = n_tiled; token < job.n_tokens; ++token) {
      FloatJob few = job;
      few.n_rows = kRowTile;
      few.ahead.bytes = whole_tiles(job.ahead.bytes, kRowTile * job.n_in * kValueBytes);
      for (std::size_t row = 0; row < job.n_rows; row += kRowTile) {
        few.rows = job.rows + row * job.n_in * kValueBytes;
        few.out = job.out + row;
        if (job.n_rows - row < kRowTile) few.n_rows = job.n_rows - row;
        parts(job.n_in, [&](std::size_t first, std::size_t n)
                            SATCHEL_INLINE_LAMBDA { all_rows<1>(few, token, first, n); });
      }
    }
  }
};

template <class V>
void matmul_floats(const FloatJob& job) {
  if (job.type == WeightType::f32) return FloatKernel<V, WeightType::f32>::run(job);
  if (job.type == WeightType::f16) return FloatKernel<V, WeightType::f16>::run(job);
  if (job.type == WeightType::bf16) return FloatKernel<V, WeightType::bf16>::run(job);
  __builtin_trap();  // the driver sends no other type
}

}  // namespace
}  // namespace satchel::kernels::cpu
