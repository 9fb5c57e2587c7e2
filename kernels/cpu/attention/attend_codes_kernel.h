// Decode attention on one quantised page, with integer arithmetic directly on the codes.
//   pages have any capacity; empty and dead slots get no weight
//   K  logit = Σ (q·s)·code + q·z: q is folded with the scales of each group of tokens, to 16 bits
//      with one fp32 factor; the dot product is exact in int32; q·z is one fp32 number per group
//   V  out = Σ (p·s)·code + p·z likewise: a row of codes is a channel, p is folded per group of
//      channels
//   both are the same product, of rows of codes with folded rows (attend_codes.h);
//   all query rows (up to 8 at a time) share one unpacking
//   error  about 1e-5 of the largest folded value, which is 32767 units of rounding
#pragma once

#include "kernels/cpu/attention/attend_softmax.h"
#include "kernels/cpu/attention/code_dot_kernel.h"
#include "kernels/cpu/attention/mixed_bit_kernel.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Rows that share one unpacking, each with a sum in registers. Fewer for pages that are not full
// or not of 2 bits, because each number of rows is another instance to compile.
constexpr std::size_t kCodeRowsMax = 8, kFewerRowsMax = 4;

template <class V, std::size_t kBits, std::size_t kEntries, std::size_t kRows>
struct CodeProduct {
  using Float = typename V::Float;
  using Dot = CodeDot<V, kBits, kEntries>;

  // out[r][i] = x of row r (slots) with row i of codes, for the first n_rows of them, to whole
  // steps of kDotRows.
  [[gnu::noinline]] static void run(const float* x, const AffinePlanes& planes, std::size_t n_rows,
                                    CodePrefetch& prefetch, float* out, std::size_t out_stride) {
    typename Dot::template Folding<kRows> folding;
    Dot::template fold_all<kRows>(x, planes, (n_rows + planes.group - 1) / planes.group, prefetch,
                                  folding);
    for (std::size_t i = 0; i < n_rows; i += kDotRows) {
      const std::size_t g = i / planes.group;
      float sums[kRows][kDotRows];
      Dot::template dot_rows<kRows>(Dot::rows_at(planes, i), folding.codes[g], prefetch, sums);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Float factor = V::broadcast_float(folding.factor[g * kRows + r]);
        const Float offset = V::broadcast_float(folding.offset[g * kRows + r]);
        unroll<0, kDotRows / V::kFloats>([&](auto k) __attribute__((always_inline)) {
          constexpr std::size_t at = k.value * V::kFloats;
          V::store(out + r * out_stride + i + at,
                   V::fma(V::load_float(sums[r] + at), factor, offset));
        });
      }
    }
  }

  // The same for weights of tokens in order; the codes are V of a page of kEntries tokens.
  static void run_weights(const float (*weights)[kTileTokens], const AffinePlanes& planes,
                          std::size_t n_rows, CodePrefetch& prefetch, float* out,
                          std::size_t out_stride) {
    alignas(64) float x[kRows][Dot::kSlots];
    for (std::size_t r = 0; r < kRows; ++r) {
      prefetch.step();
      weights_to_slots(weights[r], x[r]);
    }
    run(x[0], planes, n_rows, prefetch, out, out_stride);
  }

 private:
  SATCHEL_INLINE void weights_to_slots(const float* p, float* slots) {
    constexpr std::size_t kBlocks = kEntries / 32;
    // Slot pair t · n / 8 + m is of tokens 8·m + 2·t and the next one.
    __m256 pairs[kEntries / 8];
    unroll<0, kBlocks>([&](auto i) __attribute__((always_inline)) {
      __m256 square[4];
      unroll<0, 4>([&](auto m) __attribute__((always_inline)) {
        square[m.value] = _mm256_loadu_ps(p + 32 * i.value + 8 * m.value);
      });
      transpose_pairs_4x4(square);
      unroll<0, 4>([&](auto t) __attribute__((always_inline)) {
        pairs[t.value * kBlocks + i.value] = square[t.value];
      });
    });
    unroll<0, Dot::kSlots / V::kFloats>([&](auto i) __attribute__((always_inline)) {
      constexpr std::size_t at = i.value * V::kFloats;
      V::store(slots + at,
               at < kEntries ? V::joined(pairs, at < kEntries ? i.value : 0) : V::zero_float());
    });
  }
};

// kRows query rows on a page: two products, of the kinds that its K and its V are, with a softmax
// between.
template <class V, std::size_t kRows>
struct CodeTokens {
  template <std::size_t kBits, std::size_t kEntries>
  using Product = CodeProduct<V, kBits, kEntries, kRows>;
  using Run = decltype(&Product<2, 64>::run);
  using RunWeights = decltype(&Product<2, 64>::run_weights);
  template <std::size_t kBits>
  static constexpr Run kKeys[] = {Product<kBits, 64>::run, Product<kBits, 128>::run,
                                  Product<kBits, 256>::run};
  template <std::size_t kBits>
  static constexpr RunWeights kValues[] = {
      Product<kBits, 32>::run_weights, Product<kBits, 64>::run_weights,
      Product<kBits, 96>::run_weights, Product<kBits, 128>::run_weights};

  // head_dim is 64, 128 or 256.
  SATCHEL_INLINE Run run_for_keys(std::size_t bits, std::size_t head_dim) {
    if constexpr (kRows <= kFewerRowsMax) {
      if (bits == 3) return kKeys<3>[head_dim / 128];
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
      if (bits == 3) return kValues<3>[length];
      return bits == 2 ? kValues<2>[length] : bits == 4 ? kValues<4>[length] : kValues<8>[length];
    }
  }

  using RunMixedBit = decltype(&MixedBitProduct<V, 1, 32>::run);
  static constexpr RunMixedBit kMixedBitKeys[] = {
      MixedBitProduct<V, kRows, 32>::run, MixedBitProduct<V, kRows, 64>::run,
      MixedBitProduct<V, kRows, 96>::run, MixedBitProduct<V, kRows, 128>::run};

  // logits [kRows, kTileTokens]
  SATCHEL_INLINE void run_keys(const LaneRows& all, std::size_t first, const CodeTile& tile,
                               std::size_t seen_end, CodePrefetch& prefetch, float* logits) {
    const std::size_t d = all.head_dim;
    if constexpr (kRows <= kFewerRowsMax) {
      if (tile.mixed_bit_k.codes != nullptr)
        return kMixedBitKeys[tile.capacity / 32 - 1](all.q + first * d, tile.mixed_bit_k, d,
                                                     prefetch, logits, kTileTokens);
    }
    run_for_keys(tile.k.bits, d)(all.q_slots + first * d, tile.k, seen_end, prefetch, logits,
                                 kTileTokens);
  }

  static void run(const LaneRows& all, std::size_t first, const CodeTile& tile) {
    SeenByRows<kRows> seen;
    SeenByRows<kRows>::find(seen, all, first, tile.tokens);
    if (seen.end == 0) return;
    const std::size_t d = all.head_dim, width = all.width;
    CodePrefetch prefetch = CodePrefetch::of(tile, all, kRows);
    alignas(64) float weights[kRows][kTileTokens];
    float shrink[kRows];
    run_keys(all, first, tile, seen.end, prefetch, weights[0]);
    Softmax<V>::template steps<kRows>(all, first, seen, tile.tokens.log_counts, weights, shrink);
    alignas(64) float added[kRows][kHeadDimMax];
    run_for_values(tile.v.bits, tile.capacity)(weights, tile.v, d, prefetch, added[0], kHeadDimMax);
    for (std::size_t r = 0; r < kRows; ++r) {
      float* sum = all.sum + (first + r) * width;
      const auto kept = V::broadcast_float(shrink[r]);
      for (std::size_t c = 0; c < d; c += V::kFloats)
        V::store(sum + c, V::fma(V::load_float(sum + c), kept, V::load_float(added[r] + c)));
    }
  }
};

template <class V>
void attend_code_tokens(const LaneRows& all, const CodeTile& tile) {
  const bool full = tile.k.bits == 2 && tile.v.bits == 2 && tile.capacity == kTileTokens;
  const std::size_t most = full ? kCodeRowsMax : kFewerRowsMax;
  CodeTile now = tile;
  for (std::size_t first = 0; first < all.n_rows;) {
    const std::size_t left = all.n_rows - first, n = left < most ? left : most;
    unroll<1, kCodeRowsMax + 1>([&](auto rows) __attribute__((always_inline)) {
      if (n == rows.value) CodeTokens<V, rows.value>::run(all, first, now);
    });
    first += n;
    now.next = nullptr;  // already prefetched
  }
}

}  // namespace
}  // namespace satchel::kernels::cpu
