// Attention of few query rows on one page of codes, by integers straight on the codes.
//   pages of any capacity; slots that are empty or dead get no weight
//   K  logit = Σ (q·s)·code + q·z: q is folded with the scales of each group of tokens, to 16 bits
//      with one fp32 factor; the dot product is exact in int32; q·z is one fp32 number per group
//   V  out = Σ (p·s)·code + p·z likewise: a row of codes is a channel, p is folded per group of
//      channels
//   both are the same product, of rows of codes with folded rows in the order of attend_packed.h;
//   all query rows (up to 8 at a time) share one unpacking
//   error  about 1e-5 of the largest folded value, which is 32767 units of rounding
#pragma once

#include <array>

#include "kernels/contract/row_order.h"
#include "kernels/cpu/attend_softmax.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/packed_dot_kernel.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Rows that share one unpacking: a sum each in registers. Fewer for other pages than full ones of 2
// bits, which have less to unpack: each number of rows is an instance that takes its time to compile.
constexpr std::size_t kPackedRowsMax = 8, kFewerRowsMax = 4;
constexpr std::size_t kHeadDimMax = 256;

// Asks for a share of the page that comes next at each step: the processor's own prefetching ends at
// 4 KiB.
struct PackedPrefetch {
  const std::byte* next;  // or null
  std::size_t bytes_of_step;

  SATCHEL_INLINE PackedPrefetch of(const PackedTile& tile, std::size_t head_dim) {
    return {tile.next, tile.next_bytes / ((tile.capacity + head_dim) / kDotRows)};
  }
  [[gnu::always_inline]] inline void step() {
    if (next == nullptr) return;
    for (std::size_t i = 0; i < bytes_of_step; i += 64) __builtin_prefetch(next + i);
    next += bytes_of_step;
  }
};

template <class V, std::size_t kBits, std::size_t kEntries, std::size_t kRows>
struct PackedProduct {
  using Float = typename V::Float;
  using Dot = PackedDot<V, kBits, kEntries>;
  static constexpr std::size_t kPairs = Dot::kPairs;

  // out[r][i] = x of row r (planes) with row i of codes, for the first n_rows of them, to whole
  // steps of kDotRows.
  [[gnu::noinline]] static void run(const float* x, const AffinePlanes& planes, std::size_t n_rows,
                                    PackedPrefetch& prefetch, float* out, std::size_t out_stride) {
    typename Dot::template Folding<kRows> folding;
    Dot::template fold_all<kRows>(x, planes, (n_rows + planes.group - 1) / planes.group, folding);
    for (std::size_t i = 0; i < n_rows; i += kDotRows) {
      const std::size_t g = i / planes.group;
      prefetch.step();
      float sums[kRows][kDotRows];
      Dot::template dot_rows<kRows>(planes.codes + i * Dot::kRowBytes, folding.codes[g], sums);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Float factor = V::broadcast_float(folding.factor[g * kRows + r]);
        const Float offset = V::broadcast_float(folding.offset[g * kRows + r]);
        unroll<0, kDotRows / V::kLanes>([&](auto k) __attribute__((always_inline)) {
          constexpr std::size_t at = k.value * V::kLanes;
          V::store(out + r * out_stride + i + at,
                   V::fma(V::load_float(sums[r] + at), factor, offset));
        });
      }
    }
  }

  // The same for weights of tokens in order; the codes are V of a page of kEntries tokens.
  static void run_weights(const float (*weights)[kTileTokens], const AffinePlanes& planes,
                          std::size_t n_rows, PackedPrefetch& prefetch, float* out,
                          std::size_t out_stride) {
    alignas(64) float x[kRows][2 * kPairs];
    for (std::size_t r = 0; r < kRows; ++r) weights_to_planes(weights[r], x[r]);
    run(x[0], planes, n_rows, prefetch, out, out_stride);
  }

 private:
  SATCHEL_INLINE void weights_to_planes(const float* p, float* planes) {
    if constexpr (kEntries == 128 && kBits == 2) {
      // Of pairs (64·j + 8·i + 2·t, + 1) word w = 2·t + j.
      __m256 even[8], odd[8];
      unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
        const __m256 a = _mm256_loadu_ps(p + 8 * i.value),
                     b = _mm256_loadu_ps(p + 64 + 8 * i.value);
        even[i.value] = _mm256_blend_ps(a, _mm256_moveldup_ps(b), 0xaa);
        odd[i.value] = _mm256_blend_ps(_mm256_movehdup_ps(a), b, 0xaa);
      });
      unroll<0, 64 / V::kLanes>([&](auto i) __attribute__((always_inline)) {
        V::store(planes + i.value * V::kLanes, V::joined(even, i.value));
        V::store(planes + 64 + i.value * V::kLanes, V::joined(odd, i.value));
      });
    } else {
      if constexpr (2 * kPairs != kEntries) __builtin_memset(planes, 0, 2 * kPairs * sizeof(float));
      for (const auto& [pair, token] : kTokensOfPairs) {
        planes[pair] = p[token];
        planes[kPairs + pair] = p[token + 1];
      }
    }
  }

  struct TokensOfPair {
    std::uint8_t pair, token;  // the first one's; the second is the token after it
  };
  static constexpr std::array<TokensOfPair, kEntries / 2> kTokensOfPairs = [] {
    std::array<TokensOfPair, kEntries / 2> out = {};
    for (std::size_t i = 0, k = 0; i < Dot::kPairsOfWord; ++i)
      for (std::size_t w = 0; w < Dot::kShape.words; ++w, ++k)
        out[k] = {static_cast<std::uint8_t>(i * Dot::kWords + w),
                  static_cast<std::uint8_t>(entry_of_slot(kEntries, Dot::kShape.slot(i, w)))};
    return out;
  }();
};

template <class V, std::size_t kRows>
struct PackedTokens {
  template <std::size_t kBits, std::size_t kEntries>
  using Product = PackedProduct<V, kBits, kEntries, kRows>;
  using Run = decltype(&Product<2, 64>::run);
  using RunWeights = decltype(&Product<2, 64>::run_weights);
  template <std::size_t kBits>
  static constexpr Run kKeys[] = {Product<kBits, 64>::run, Product<kBits, 128>::run,
                                  Product<kBits, 256>::run};
  template <std::size_t kBits>
  static constexpr RunWeights kValues[] = {
      Product<kBits, 32>::run_weights, Product<kBits, 64>::run_weights,
      Product<kBits, 96>::run_weights, Product<kBits, 128>::run_weights};

  SATCHEL_INLINE Run run_for_keys(std::size_t bits, std::size_t head_dim) {
    if constexpr (kRows <= kFewerRowsMax) {
      if (bits == 4) return kKeys<4>[head_dim / 128];
      if (bits == 8) return kKeys<8>[head_dim / 128];
    }
    return kKeys<2>[head_dim / 128];
  }
  SATCHEL_INLINE RunWeights run_for_values(std::size_t bits, std::size_t capacity) {
    if constexpr (kRows > kFewerRowsMax) {
      return Product<2, 128>::run_weights;
    } else {
      const std::size_t length = capacity / 32 - 1;
      return bits == 2 ? kValues<2>[length] : bits == 4 ? kValues<4>[length] : kValues<8>[length];
    }
  }

  static void run(const LaneRows& all, std::size_t first, const PackedTile& tile) {
    SeenByRows<kRows> seen;
    SeenByRows<kRows>::find(seen, all, first, tile.tokens);
    if (seen.end == 0) return;
    const std::size_t d = all.head_dim, width = all.width;
    PackedPrefetch prefetch = PackedPrefetch::of(tile, d);
    alignas(64) float weights[kRows][kTileTokens];
    float shrink[kRows];
    run_for_keys(tile.k.bits, d)(all.q_planes + first * d, tile.k, seen.end, prefetch, weights[0],
                                 kTileTokens);
    Softmax<V>::template steps<kRows>(all, first, seen, tile.tokens.log_counts, weights, shrink);
    alignas(64) float added[kRows][kHeadDimMax];
    run_for_values(tile.v.bits, tile.capacity)(weights, tile.v, d, prefetch, added[0], kHeadDimMax);
    for (std::size_t r = 0; r < kRows; ++r) {
      float* sum = all.sum + (first + r) * width;
      const auto kept = V::broadcast_float(shrink[r]);
      for (std::size_t c = 0; c < d; c += V::kLanes)
        V::store(sum + c, V::fma(V::load_float(sum + c), kept, V::load_float(added[r] + c)));
    }
  }
};

template <class V>
void attend_packed_tokens(const LaneRows& all, const PackedTile& tile) {
  const bool full = tile.k.bits == 2 && tile.v.bits == 2 && tile.capacity == kTileTokens;
  const std::size_t most = full ? kPackedRowsMax : kFewerRowsMax;
  PackedTile now = tile;
  for (std::size_t first = 0; first < all.n_rows;) {
    const std::size_t left = all.n_rows - first, n = left < most ? left : most;
    unroll<1, kPackedRowsMax + 1>([&](auto rows) __attribute__((always_inline)) {
      if (n == rows.value) PackedTokens<V, rows.value>::run(all, first, now);
    });
    first += n;
    now.next = nullptr;  // has been asked for
  }
}

}  // namespace
}  // namespace satchel::kernels::cpu
