// Attention of few query rows on exact tokens: K and V are read once as fp16, for up to 8 rows.
#pragma once

#include "kernels/cpu/attend_softmax.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct ExactTokens {
  using Float = typename V::Float;
  static constexpr std::size_t kRowsMax = 8;
  static constexpr std::size_t kBlock = 16;  // tokens whose sums are reduced together

  // Asks for the n halves that lie `ahead` of `from`, if they exist: asking never fails.
  SATCHEL_INLINE void prefetch(const Half* from, std::size_t ahead, std::size_t n) {
    const auto first = reinterpret_cast<std::uintptr_t>(from) + ahead * sizeof(Half);
    for (std::uintptr_t at = first; at < first + n * sizeof(Half); at += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(at));
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void logits(const LaneRows& all, std::size_t first, const ExactRun& run,
                             float (*out)[kTileTokens]) {
    const std::size_t d = all.head_dim;
    const float* q = all.q + first * d;
    for (std::size_t t = 0; t < run.n_tokens; t += kBlock) {
      Float partial[kRows][kBlock];
      for (std::size_t i = 0; i < kBlock; ++i) {
        Float sum[kRows];
        unroll<0, kRows>([&](auto r)
                             __attribute__((always_inline)) { sum[r.value] = V::zero_float(); });
        if (t + i < run.n_tokens) {
          const Half* key = run.k + (t + i) * d;
          prefetch(key, kBlock * d, d);  // keys of the next block, values of this one
          prefetch(run.v, (t + i) * d, d);
          for (std::size_t c = 0; c < d; c += V::kLanes) {
            const Float k = V::load_half(key + c);
            unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
              sum[r.value] = V::fma(V::load_float(q + r.value * d + c), k, sum[r.value]);
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

  // kVecs registers of channels from c on.
  template <std::size_t kRows, std::size_t kVecs>
  SATCHEL_INLINE void add_values(const float (*p)[kTileTokens], std::size_t n, const Half* v,
                                 std::size_t stride, const float* shrink, float* sum,
                                 std::size_t width) {
    Float added[kRows][kVecs];
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
        added[r.value][i.value] = V::mul(V::load_float(sum + r.value * width + i.value * V::kLanes),
                                         V::broadcast_float(shrink[r.value]));
      });
    });
    for (std::size_t t = 0; t < n; ++t, v += stride) {
      Float value[kVecs];
      unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
        value[i.value] = V::load_half(v + i.value * V::kLanes);
      });
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
        const Float weight = V::broadcast_float(p[r.value][t]);
        unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
          added[r.value][i.value] = V::fma(weight, value[i.value], added[r.value][i.value]);
        });
      });
    }
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
        V::store(sum + r.value * width + i.value * V::kLanes, added[r.value][i.value]);
      });
    });
  }

  template <std::size_t kRows>
  static void rows(const LaneRows& all, std::size_t first, const std::size_t* visible,
                   std::size_t most, const ExactRun& run) {
    alignas(64) float weights[kRows][kTileTokens];
    float shrink[kRows];
    logits<kRows>(all, first, {.k = run.k, .v = run.v, .n_tokens = most}, weights);
    for (std::size_t r = 0; r < kRows; ++r) {
      shrink[r] = 1;
      if (visible[r] > 0)
        shrink[r] =
            Softmax<V>::step(weights[r], visible[r], all.most[first + r], all.total[first + r]);
      else
        __builtin_memset(weights[r], 0, sizeof weights[r]);
    }
    float* sum = all.sum + first * all.width;
    std::size_t c = 0;
    for (; c + 2 * V::kLanes <= all.head_dim; c += 2 * V::kLanes)
      add_values<kRows, 2>(weights, most, run.v + c, all.head_dim, shrink, sum + c, all.width);
    for (; c < all.head_dim; c += V::kLanes)
      add_values<kRows, 1>(weights, most, run.v + c, all.head_dim, shrink, sum + c, all.width);
  }

  static void run(const LaneRows& all, const ExactRun& run) {
    for (std::size_t first = 0; first < all.n_rows;) {
      const std::size_t left = all.n_rows - first, n = left < kRowsMax ? left : kRowsMax;
      std::size_t visible[kRowsMax], most = 0;
      for (std::size_t r = 0; r < n; ++r) {
        visible[r] = visible_tokens(run.positions, run.n_tokens, all.positions[first + r]);
        most = visible[r] > most ? visible[r] : most;
      }
      if (most > 0) {
        unroll<1, kRowsMax + 1>([&](auto rows_of) __attribute__((always_inline)) {
          if (n == rows_of.value) rows<rows_of.value>(all, first, visible, most, run);
        });
      }
      first += n;
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
