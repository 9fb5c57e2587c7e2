// Attention of few query rows on one page of 2-bit codes, by integers straight on the codes.
//   pages of 32, 64 and 128 tokens; slots that are empty or dead get no weight
//   K  logit = Σ (q·s)·code + q·z: q is folded with the scales of each group of tokens, to 16 bits
//      with one fp32 factor; the dot product is exact in int32; q·z is one fp32 number per group
//   V  out = Σ (p·s)·code + p·z likewise: a row of codes is a channel, p is folded per group of
//      channels
//   both are the same product, of rows of codes with folded rows in the order of attend_packed.h;
//   all query rows (up to 8 at a time) share one unpacking
//   error  about 1e-5 of the largest folded value, which is 32767 units of rounding
#pragma once

#include "kernels/contract/row_order.h"
#include "kernels/cpu/attend_softmax.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/packed_dot_kernel.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Rows that share one unpacking: a sum each in registers. Fewer for short pages, which have less to
// unpack: each number of rows is an instance that takes its time to compile.
constexpr std::size_t kPackedRowsMax = 8, kShortRowsMax = 4;

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

// Calls body(i) for the registers of 16 sums.
template <class V, class Body>
SATCHEL_INLINE void for_sums(const Body& body) {
  unroll<0, kDotRows / V::kLanes>([&](auto i) __attribute__((always_inline)) {
    body(i.value * V::kLanes);
  });
}

template <class V, std::size_t kHeadDim>
struct PackedKeys {
  using Float = typename V::Float;
  static constexpr std::size_t kGroups = kTileTokens / 16;
  using Dot = PackedDot<V, kHeadDim / 16, kGroups>;

  // Of the first `end` tokens, to whole registers. One copy for pages of any length.
  template <std::size_t kRows>
  [[gnu::noinline]] static void logits(const float* q_planes, const PackedTile& tile,
                                       std::size_t end, PackedPrefetch& prefetch,
                                       float (*out)[kTileTokens]) {
    const AffinePlanes& keys = tile.k;
    typename Dot::template Folding<kRows> q;
    Dot::template fold_all<kRows>(q_planes,
                                  {.scales = keys.scales,
                                   .zeros = keys.zeros,
                                   .n_groups = (end + keys.group - 1) / keys.group},
                                  q);
    for (std::size_t t = 0; t < end; t += kDotRows) {
      const std::size_t g = t / keys.group;
      prefetch.step();
      float sums[kRows][kDotRows];
      Dot::template dot_rows<kRows>(keys.codes + t * (kHeadDim / 4), q.codes[g], sums);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Float factor = V::broadcast_float(q.factor[r * kGroups + g]);
        const Float offset = V::broadcast_float(q.offset[r * kGroups + g]);
        for_sums<V>([&](std::size_t i) __attribute__((always_inline)) {
          V::store(out[r] + t + i, V::fma(V::load_float(sums[r] + i), factor, offset));
        });
      }
    }
  }
};

template <class V, std::size_t kHeadDim, std::size_t kCapacity>
struct PackedValues {
  using Float = typename V::Float;
  static constexpr std::size_t kGroups = kHeadDim / 16;
  using Dot = PackedDot<V, kCapacity / 16, kGroups>;

  // Weights of tokens in order, to planes (attend_packed.h).
  SATCHEL_INLINE void tokens_to_planes(const float* p, float* planes) {
    if constexpr (kCapacity == 128) {
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
      constexpr std::size_t kWords = kCapacity / 16;
      for (std::size_t w = 0; w < kWords; ++w) {
        for (std::size_t i = 0; i < 8; ++i) {
          const std::size_t token = entry_of_slot(kCapacity, 16 * w + 2 * i);  // and the next one
          planes[i * kWords + w] = p[token];
          planes[kCapacity / 2 + i * kWords + w] = p[token + 1];
        }
      }
    }
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void add(const float (*weights)[kTileTokens], const PackedTile& tile,
                          PackedPrefetch& prefetch, const float* shrink, float* sum,
                          std::size_t width) {
    const AffinePlanes& values = tile.v;
    alignas(64) float planes[kRows][kCapacity];
    for (std::size_t r = 0; r < kRows; ++r) tokens_to_planes(weights[r], planes[r]);
    typename Dot::template Folding<kRows> p;
    Dot::template fold_all<kRows>(
        planes[0],
        {.scales = values.scales, .zeros = values.zeros, .n_groups = kHeadDim / values.group}, p);
    for (std::size_t c = 0; c < kHeadDim; c += kDotRows) {
      const std::size_t g = c / values.group;
      prefetch.step();
      float sums[kRows][kDotRows];
      Dot::template dot_rows<kRows>(values.codes + c * (kCapacity / 4), p.codes[g], sums);
      for (std::size_t r = 0; r < kRows; ++r) {
        float* to = sum + r * width + c;
        const Float factor = V::broadcast_float(p.factor[r * kGroups + g]),
                    kept = V::broadcast_float(shrink[r]);
        const Float offset = V::broadcast_float(p.offset[r * kGroups + g]);
        for_sums<V>([&](std::size_t i) __attribute__((always_inline)) {
          const Float added = V::fma(V::load_float(sums[r] + i), factor, offset);
          V::store(to + i, V::fma(V::load_float(to + i), kept, added));
        });
      }
    }
  }
};

template <class V, std::size_t kHeadDim, std::size_t kCapacity>
struct PackedTokens {
  static constexpr std::size_t kRowsMax = kCapacity == kTileTokens ? kPackedRowsMax : kShortRowsMax;

  template <std::size_t kRows>
  static void rows(const LaneRows& all, std::size_t first, const PackedTile& tile) {
    SeenByRows<kRows> seen;
    SeenByRows<kRows>::find(seen, all, first, tile.tokens);
    if (seen.end == 0) return;
    PackedPrefetch prefetch = PackedPrefetch::of(tile, kHeadDim);
    alignas(64) float weights[kRows][kTileTokens];
    float shrink[kRows];
    PackedKeys<V, kHeadDim>::template logits<kRows>(all.q_planes + first * kHeadDim, tile, seen.end,
                                                    prefetch, weights);
    Softmax<V>::template steps<kRows>(all, first, seen, tile.tokens.log_counts, weights, shrink);
    PackedValues<V, kHeadDim, kCapacity>::template add<kRows>(
        weights, tile, prefetch, shrink, all.sum + first * all.width, all.width);
  }

  static void run(const LaneRows& all, const PackedTile& tile) {
    PackedTile now = tile;
    for (std::size_t first = 0; first < all.n_rows;) {
      const std::size_t left = all.n_rows - first;
      const std::size_t n = left < kRowsMax ? left : kRowsMax;
      unroll<1, kRowsMax + 1>([&](auto rows_of) __attribute__((always_inline)) {
        if (n == rows_of.value) rows<rows_of.value>(all, first, now);
      });
      first += n;
      now.next = nullptr;  // has been asked for
    }
  }
};

template <class V, std::size_t kHeadDim>
SATCHEL_INLINE void attend_packed_head(const LaneRows& rows, const PackedTile& tile) {
  if (tile.capacity == 128)
    PackedTokens<V, kHeadDim, 128>::run(rows, tile);
  else if (tile.capacity == 64)
    PackedTokens<V, kHeadDim, 64>::run(rows, tile);
  else
    PackedTokens<V, kHeadDim, 32>::run(rows, tile);
}

template <class V>
void attend_packed_tokens(const LaneRows& rows, const PackedTile& tile) {
  if (rows.head_dim == 64)
    attend_packed_head<V, 64>(rows, tile);
  else if (rows.head_dim == 128)
    attend_packed_head<V, 128>(rows, tile);
  else
    attend_packed_head<V, 256>(rows, tile);
}

}  // namespace
}  // namespace satchel::kernels::cpu
