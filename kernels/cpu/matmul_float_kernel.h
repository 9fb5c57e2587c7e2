// The product of rows of f32, f16 or bf16, read in place, with fp32 tokens, written once over the
// registers `V` of a level: registers run along a row, kRows x kTokens sums stay in registers.
//   sums    each in `V::kLanes` partial fp32 sums in rising order, then added up: the same bits
//           for every tile, not for every level
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/matmul_table.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V, WeightType kType>
struct FloatKernel {
  static constexpr std::size_t kValueBytes = kType == WeightType::f32 ? 4 : 2;
  static constexpr std::size_t kRowTile = 4;
  using Float = typename V::Float;

  SATCHEL_INLINE Float load(const std::byte* at) {
    if constexpr (kType == WeightType::f32)
      return V::load_float(at);
    else if constexpr (kType == WeightType::f16)
      return V::load_half(at);
    else
      return V::load_bfloat(at);
  }
  // The last n < kLanes values, the rest zeros.
  SATCHEL_INLINE Float load_tail(const std::byte* at, std::size_t n) {
    alignas(64) std::byte whole[V::kLanes * kValueBytes] = {};
    __builtin_memcpy(whole, at, n * kValueBytes);
    return load(whole);
  }
  SATCHEL_INLINE Float load_tail(const float* at, std::size_t n) {
    alignas(64) float whole[V::kLanes] = {};
    __builtin_memcpy(whole, at, n * sizeof(float));
    return V::load_float(whole);
  }

  template <std::size_t kRows, std::size_t kTokens>
  static void tile(const FloatJob& job, const std::byte* rows, const float* x, float* out) {
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
    std::size_t i = 0;
    for (; i + V::kLanes <= job.n_in; i += V::kLanes)
      step([&](const float* at) SATCHEL_INLINE_LAMBDA { return V::load_float(at + i); },
           [&](const std::byte* at) SATCHEL_INLINE_LAMBDA { return load(at + i * kValueBytes); });
    if (const std::size_t n = job.n_in - i; n > 0)
      step([&](const float* at) SATCHEL_INLINE_LAMBDA { return load_tail(at + i, n); },
           [&](const std::byte* at)
               SATCHEL_INLINE_LAMBDA { return load_tail(at + i * kValueBytes, n); });
    unroll_both<kTokens, kRows>([&](auto t, auto r) SATCHEL_INLINE_LAMBDA {
      out[t * job.out_stride + r] = V::sum(total[r][t]);
    });
  }

  // Tokens outside, rows inside: a tile of tokens stays in L1 while the rows pass.
  static void run(const FloatJob& job) {
    const std::size_t row_bytes = job.n_in * kValueBytes;
    std::size_t done = 0;
    const auto tiles_of = [&](auto tokens) SATCHEL_INLINE_LAMBDA {
      constexpr std::size_t kTokens = decltype(tokens)::value;
      for (; job.n_tokens - done >= kTokens; done += kTokens) {
        const float* x = job.x + done * job.n_in;
        float* out = job.out + done * job.out_stride;
        std::size_t row = 0;
        for (; job.n_rows - row >= kRowTile; row += kRowTile)
          tile<kRowTile, kTokens>(job, job.rows + row * row_bytes, x, out + row);
        for (; row < job.n_rows; ++row)
          tile<1, kTokens>(job, job.rows + row * row_bytes, x, out + row);
      }
    };
    tiles_of(Index<V::kFloatTile>{});
    if constexpr (V::kFloatTile > 3) tiles_of(Index<3>{});
    tiles_of(Index<1>{});
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
