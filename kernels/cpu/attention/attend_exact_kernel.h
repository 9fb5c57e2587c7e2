// Attention of few query rows on exact tokens: K and V are read once as fp16, for up to 8 rows.
#pragma once

#include "kernels/cpu/attention/attend_tile_kernel.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct ExactTokens {
  using Float = typename V::Float;
  static constexpr std::size_t kRowsMax = 8;
  static constexpr std::size_t kBlock = 16;  // tokens whose sums are reduced together

  // Asks for the n halves that lie `ahead` of `from`, if they exist: asking never fails.
  SATCHEL_INLINE void prefetch(const Half* from, std::size_t ahead, std::size_t n, bool into_l2) {
    const auto first = reinterpret_cast<std::uintptr_t>(from) + ahead * sizeof(Half);
    for (std::uintptr_t at = first; at < first + n * sizeof(Half); at += 64)
      ask_for(reinterpret_cast<const void*>(at), into_l2);
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void logits(const LaneRows& all, std::size_t first, const ExactTile& tile,
                             std::size_t n, float (*out)[kTileTokens]) {
    const std::size_t d = all.head_dim;
    const float* q = all.q + first * d;
    const Half *const k = tile.k, *const v = tile.v;
    for (std::size_t t = 0; t < n; t += kBlock) {
      Float partial[kRows][kBlock];
      for (std::size_t i = 0; i < kBlock; ++i) {
        Float sum[kRows];
        unroll<0, kRows>([&](auto r)
                             __attribute__((always_inline)) { sum[r.value] = V::zero_float(); });
        if (t + i < n) {
          const Half* key = k + (t + i) * d;
          prefetch(key, kBlock * d, d,
                   all.asks_into_l2);  // keys of the next block, values of this one
          prefetch(v, (t + i) * d, d, all.asks_into_l2);
          for (std::size_t c = 0; c < d; c += V::kFloats) {
            const Float value = V::load_half(key + c);
            unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
              sum[r.value] = V::fma(V::load_float(q + r.value * d + c), value, sum[r.value]);
            });
          }
        }
        unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
          partial[r.value][i] = sum[r.value];
        });
      }
      for (std::size_t r = 0; r < kRows; ++r) V::sum_registers(partial[r], out[r] + t);
    }
  }

  template <std::size_t kRows>
  static void rows(const LaneRows& all, std::size_t first, const ExactTile& tile) {
    SeenByRows<kRows> seen;
    SeenByRows<kRows>::find(seen, all, first, tile.tokens);
    if (seen.end == 0) return;
    alignas(64) float weights[kRows][kTileTokens];
    float shrink[kRows];
    logits<kRows>(all, first, tile, seen.end, weights);
    Softmax<V>::template steps<kRows>(all, first, seen, tile.tokens.log_counts, weights, shrink);
    TileProduct<V>::template add_values<kRows>(weights, seen.end, tile.v, all.head_dim, shrink,
                                               all.sum + first * all.width, all.width);
  }

  static void run(const LaneRows& all, const ExactTile& tile) {
    for (std::size_t first = 0; first < all.n_rows;) {
      const std::size_t left = all.n_rows - first, n = left < kRowsMax ? left : kRowsMax;
      unroll<1, kRowsMax + 1>([&](auto rows_of) __attribute__((always_inline)) {
        if (n == rows_of.value) rows<rows_of.value>(all, first, tile);
      });
      first += n;
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
