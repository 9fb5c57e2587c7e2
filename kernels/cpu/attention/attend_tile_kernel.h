// Prefill attention on a tile of up to 128 fp32 tokens: two products with a softmax in between, a
// few rows at a time, so that logits stay in L1 and sums in registers.
//   product  rows of q (or of weights), one value broadcast against registers of tokens (channels)
#pragma once

#include "kernels/cpu/attention/attend_softmax.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct TileProduct {
  using Float = typename V::Float;

  SATCHEL_INLINE Float load(const float* at) { return V::load_float(at); }
  SATCHEL_INLINE Float load(const Half* at) { return V::load_half(at); }

  // out[r][0 … kVecs·kFloats) = out · shrink[r] (or nothing, without it) + Σ_c left[r][c]
  // right[c][…]
  template <std::size_t kRows, std::size_t kVecs, class Value>
  SATCHEL_INLINE void run(const float* left, std::size_t left_stride, std::size_t n,
                          const Value* right, std::size_t right_stride, const float* shrink,
                          float* out, std::size_t out_stride) {
    Float sum[kRows][kVecs];
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
        sum[r.value][i.value] =
            shrink == nullptr
                ? V::zero_float()
                : V::mul(V::load_float(out + r.value * out_stride + i.value * V::kFloats),
                         V::broadcast_float(shrink[r.value]));
      });
    });
    for (std::size_t c = 0; c < n; ++c, right += right_stride) {
      Float value[kVecs];
      unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
        value[i.value] = load(right + i.value * V::kFloats);
      });
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
        const Float x = V::broadcast_float(left[r.value * left_stride + c]);
        unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
          sum[r.value][i.value] = V::fma(x, value[i.value], sum[r.value][i.value]);
        });
      });
    }
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      unroll<0, kVecs>([&](auto i) __attribute__((always_inline)) {
        V::store(out + r.value * out_stride + i.value * V::kFloats, sum[r.value][i.value]);
      });
    });
  }

  // Logits of kRows rows against the tokens [begin, end); whole registers are written, two at a
  // time.
  template <std::size_t kRows>
  SATCHEL_INLINE void logits(const float* q, std::size_t head_dim, const KeyTile& tile,
                             std::size_t begin, std::size_t end, float (*out)[kTileTokens]) {
    for (std::size_t t = begin - begin % (2 * V::kFloats); t < end; t += 2 * V::kFloats)
      run<kRows, 2>(q, head_dim, head_dim, tile.k + t, kTileTokens, nullptr, out[0] + t,
                    kTileTokens);
  }

  // out[r] = out[r] · shrink[r] + Σ_t weights[r][t] v[t] over n rows of `width` channels each.
  template <std::size_t kRows, class Value>
  SATCHEL_INLINE void add_values(const float (*weights)[kTileTokens], std::size_t n, const Value* v,
                                 std::size_t width, const float* shrink, float* out,
                                 std::size_t out_stride) {
    std::size_t c = 0;
    for (; c + 2 * V::kFloats <= width; c += 2 * V::kFloats)
      run<kRows, 2>(weights[0], kTileTokens, n, v + c, width, shrink, out + c, out_stride);
    for (; c < width; c += V::kFloats)
      run<kRows, 1>(weights[0], kTileTokens, n, v + c, width, shrink, out + c, out_stride);
  }
};

// Calls body(rows, first) for kRowTile rows, then a third of that, then single ones, until all are
// done: few instances of the kernel, none of which wastes much.
template <class V, class Body>
SATCHEL_INLINE void for_row_tiles(std::size_t n_rows, const Body& body) {
  std::size_t r = 0;
  for (; r + V::kRowTile <= n_rows; r += V::kRowTile) body(Index<V::kRowTile>{}, r);
  for (; r + V::kRowTile / 3 <= n_rows; r += V::kRowTile / 3) body(Index<V::kRowTile / 3>{}, r);
  for (; r < n_rows; ++r) body(Index<1>{}, r);
}

template <class V>
struct TileAttention {
  template <std::size_t kRows>
  static void rows(const LaneRows& all, std::size_t first, const KeyTile& tile) {
    SeenByRows<kRows> seen;
    SeenByRows<kRows>::find(seen, all, first, tile.tokens);
    if (seen.end == 0) return;
    alignas(64) float weights[kRows][kTileTokens];
    float shrink[kRows];
    TileProduct<V>::template logits<kRows>(all.q + first * all.head_dim, all.head_dim, tile, 0,
                                           seen.end, weights);
    Softmax<V>::template steps<kRows>(all, first, seen, tile.tokens.log_counts, weights, shrink);
    TileProduct<V>::template add_values<kRows>(weights, seen.end, tile.v, all.width, shrink,
                                               all.sum + first * all.width, all.width);
  }

  static void run(const LaneRows& all, const KeyTile& tile) {
    for_row_tiles<V>(
        all.n_rows, [&](auto n, std::size_t first)
                        __attribute__((always_inline)) { rows<n.value>(all, first, tile); });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
