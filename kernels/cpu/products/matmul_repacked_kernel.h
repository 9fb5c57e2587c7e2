// The product of a group of 16 repacked rows with tiles of activations, written once for the
// registers `V` of all levels (simd_avx2.h, simd_avx512.h) and for both widths of activations
// (word_dot_kernel.h, byte_dot_kernel.h). Layouts: repacked_weight.h, matmul_table.h.
//   sums     exact in int32 over a block (code <= 255, activation <= 32767, 32 values: < 2^28),
//            then fp32 over blocks in rising order: the same bits for every tile and every level
//   tile     a register of weights is unpacked once for all tokens of the tile
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/products/repacked_scales_kernel.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {
namespace {

// Dot: WordDot or ByteDot, of a level and a type.
template <class Dot>
struct RepackedKernel {
  using V = typename Dot::V;
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr WeightType kType = Dot::kType;
  static constexpr QuantFormat kShape = Dot::kShape;
  static constexpr std::size_t kCodeBytes = kShape.code_bytes();
  static constexpr std::size_t kUnitBytes = kShape.unit_bytes();
  static constexpr std::size_t kBlocks = kShape.blocks();  // of a unit

  // kVectors registers of rows against kTokens tokens.
  template <std::size_t kVectors, std::size_t kTokens>
  struct Tile {
    using Scales = RepackedScales<V, kType, kVectors>;
    Float total[kVectors][kTokens];

    [[gnu::always_inline]] inline void start() {
      unroll_both<kVectors, kTokens>([&](auto v, auto t)
                                         SATCHEL_INLINE_LAMBDA { total[v][t] = V::zero_float(); });
    }
    [[gnu::always_inline]] inline void go_on(const float* out, std::size_t stride) {
      unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
        total[v][t] = V::load_float(out + t * stride + v * V::kFloats);
      });
    }
    [[gnu::always_inline]] inline void store(float* out, std::size_t stride) const {
      unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
        V::store(out + t * stride + v * V::kFloats, total[v][t]);
      });
    }

    // The values of one block that share the scale kScale.
    template <std::size_t kScale>
    [[gnu::always_inline]] inline void add_products(const std::byte* codes, std::size_t first_row,
                                                    const Scales& scales, std::size_t block,
                                                    const std::int32_t* x,
                                                    const std::int32_t* words) {
      Int sum[kVectors][kTokens];
      Dot::template sums<kScale, Scales::kRowStep>(codes, first_row, scales.next_group, x,
                                                   words + (1 + kScale) * kTokens, sum);
      Float scale[kVectors];
      unroll<0, kVectors>([&](auto v)
                              SATCHEL_INLINE_LAMBDA { scale[v] = scales.scale(block, kScale, v); });
      unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
        const Float factor = V::mul(scale[v], V::broadcast_float(words + t));
        total[v][t] = V::fma(V::to_float(sum[v][t]), factor, total[v][t]);
      });
    }

    // Minima times the sums of the values that share them.
    template <std::size_t kIndex>
    [[gnu::always_inline]] inline void add_minima(const Scales& scales, std::size_t block,
                                                  const std::int32_t* words) {
      Float minimum[kVectors];
      unroll<0, kVectors>(
          [&](auto v) SATCHEL_INLINE_LAMBDA { minimum[v] = scales.minimum(block, kIndex, v); });
      unroll_both<kVectors, kTokens>([&](auto v, auto t) SATCHEL_INLINE_LAMBDA {
        const Float weighted = V::broadcast_float(words + (1 + kIndex) * kTokens + t);
        total[v][t] = V::fma(minimum[v], weighted, total[v][t]);
      });
    }

    // Block `index` of a unit.
    [[gnu::always_inline]] inline void add_block(const std::byte* codes, std::size_t first_row,
                                                 const Scales& scales, std::size_t index,
                                                 const std::int32_t* x, const std::int32_t* words) {
      unroll<0, kShape.scales>([&](auto s) SATCHEL_INLINE_LAMBDA {
        add_products<decltype(s)::value>(codes, first_row, scales, index, x, words);
      });
      if constexpr (kShape.has_minimum)
        unroll<0, kShape.scales>([&](auto s) SATCHEL_INLINE_LAMBDA {
          add_minima<decltype(s)::value>(scales, index, words);
        });
    }
  };

  // What a lone token asks for while it is at a unit, in bytes from there: codes, and the next
  // unit, whose scales are read first though they lie behind its codes.
  struct Ahead {
    std::size_t codes = 0, next_unit = 0;
    bool asks = false, into_l2 = false;
  };
  // With `left` bytes of the group to go. Behind a group lies the one that is read beside it.
  SATCHEL_INLINE Ahead ahead_of(const RepackedJob& job, std::size_t left, std::size_t beside) {
    const AskedAhead& asked = job.ahead;
    return {.codes = asked.bytes + (left <= asked.bytes ? beside : 0),
            .next_unit = kUnitBytes + (left <= kUnitBytes ? beside : 0),
            .asks = asked.bytes != 0,
            .into_l2 = asked.into_l2};
  }
  SATCHEL_INLINE void ask_for_all(const Ahead& ahead, const std::byte* from, std::size_t bytes) {
    if (!ahead.asks) return;
    for (std::size_t line = 0; line < bytes; line += 64) ask_for(from + line, ahead.into_l2);
  }

  // Where the activations of a tile are read.
  struct Cursor {
    const std::int32_t *x, *words;
  };

  // The blocks of one unit, for the rows from first_row on; the cursor moves on by as many.
  template <std::size_t kVectors, std::size_t kTokens>
  SATCHEL_INLINE void add_unit(Tile<kVectors, kTokens>& tile, const std::byte* unit,
                               std::size_t first_row,
                               const RepackedScales<V, kType, kVectors>& scales, Ahead ahead,
                               Cursor& cursor) {
    constexpr std::size_t kScalesAt = kBlocks * kCodeBytes, kBlockBytes = kUnitBytes / kBlocks;
    const auto streams = [&](auto&& body) SATCHEL_INLINE_LAMBDA {
      if constexpr (kTokens == 1)
        unroll<0, scales.kOfGroups ? kVectors : 1>(
            [&](auto v) SATCHEL_INLINE_LAMBDA { body(unit + v * scales.next_group); });
    };
    if constexpr (kBlocks > 1)
      streams([&](const std::byte* at) SATCHEL_INLINE_LAMBDA {
        ask_for_all(ahead, at + ahead.next_unit + kScalesAt, kUnitBytes - kScalesAt + 63);
      });
    for (std::size_t b = 0; b < kBlocks; ++b) {
      streams([&](const std::byte* at) SATCHEL_INLINE_LAMBDA {
        ask_for_all(ahead, at + ahead.codes + b * kBlockBytes, kBlockBytes);
      });
      tile.add_block(unit + b * kCodeBytes, first_row, scales, b, cursor.x, cursor.words);
      cursor.x += Dot::kWords * kTokens;
      cursor.words += kBlockWords * kTokens;
    }
  }

  // All units, for the rows from first_row on.
  template <std::size_t kVectors, std::size_t kTokens>
  static void rows(const RepackedJob& job, std::size_t first_row, const std::int32_t* x,
                   const std::int32_t* words, float* out, std::size_t out_stride) {
    const std::byte* unit = job.group;
    Cursor cursor{x, words};
    Tile<kVectors, kTokens> tile;
    tile.start();
    RepackedScales<V, kType, kVectors> scales;
    if constexpr (scales.kOfGroups) scales.next_group = job.next_group;
    for (std::size_t done = 0; done < job.n_blocks; done += kBlocks, unit += kUnitBytes) {
      scales.read(unit + kBlocks * kCodeBytes, first_row);
      const std::size_t left = (job.n_blocks - done) / kBlocks * kUnitBytes;
      add_unit(tile, unit, first_row, scales, ahead_of(job, left, scales.next_group), cursor);
    }
    tile.store(out, out_stride);
  }

  // The same for many tiles of a full group, some units at a time: their scales are unpacked once
  // for all tiles, and sums wait in `out` for the next units. Same sums, same order.
  template <std::size_t kVectors>
  static void rows_of_tiles(const RepackedJob& job, std::size_t first_row, std::size_t n_tiles) {
    constexpr std::size_t kTokens = V::kTile;
    constexpr std::size_t kUnits = 4;  // chosen: their codes and scales fill half of L1 at most
    RepackedScales<V, kType, kVectors> scales[kUnits];
    if constexpr (scales->kOfGroups)
      for (auto& of_unit : scales) of_unit.next_group = job.next_group;
    const std::size_t n_units = job.n_blocks / kBlocks;
    for (std::size_t first = 0; first < n_units; first += kUnits) {
      const std::size_t n = n_units - first < kUnits ? n_units - first : kUnits;
      const std::byte* units = job.group + first * kUnitBytes;
      for (std::size_t u = 0; u < n; ++u)
        scales[u].read(units + u * kUnitBytes + kBlocks * kCodeBytes, first_row);
      for (std::size_t t = 0; t < n_tiles; ++t) {
        const std::size_t block = (t * n_units + first) * kBlocks * kTokens;
        Cursor cursor{job.x.codes + block * Dot::kWords, job.x.words + block * kBlockWords};
        float* out = job.out + t * kTokens * job.out_stride + first_row;
        Tile<kVectors, kTokens> tile;
        if (first == 0)
          tile.start();
        else
          tile.go_on(out, job.out_stride);
        for (std::size_t u = 0; u < n; ++u)
          add_unit(tile, units + u * kUnitBytes, first_row, scales[u], {}, cursor);
        tile.store(out, job.out_stride);
      }
    }
  }

  // Where a register holds a whole group, two of them share what is read of the tokens; a lone
  // token reads two streams of weights faster than one.
  static constexpr std::size_t kPair = V::kFloats == kGroupRows ? 2 : 0;

  // All 16 rows, or those of two groups; a group that is not full goes through a buffer.
  template <std::size_t kTokens>
  static void group(const RepackedJob& job, const std::int32_t* x, const std::int32_t* words,
                    float* out) {
    constexpr std::size_t kVectors = V::template vectors<kTokens>();
    if constexpr (kPair != 0)
      if (job.next_group != 0) return rows<kPair, kTokens>(job, 0, x, words, out, job.out_stride);
    float whole[kTokens * kGroupRows];
    const bool full = job.n_rows == kGroupRows;
    float* to = full ? out : whole;
    const std::size_t stride = full ? job.out_stride : kGroupRows;
    for (std::size_t row = 0; row < kGroupRows; row += V::kFloats * kVectors)
      rows<kVectors, kTokens>(job, row, x, words, to + row, stride);
    if (full) return;
    for (std::size_t t = 0; t < kTokens; ++t)
      __builtin_memcpy(out + t * job.out_stride, whole + t * kGroupRows,
                       job.n_rows * sizeof(float));
  }

  // n_tiles whole tiles, one at least, of a full group or of two.
  static void tiles(const RepackedJob& job, std::size_t n_tiles) {
    constexpr std::size_t kTokens = V::kTile, kVectors = V::template vectors<kTokens>();
    const auto all = [&](auto vectors, std::size_t first_row) SATCHEL_INLINE_LAMBDA {
      constexpr std::size_t kOf = decltype(vectors)::value;
      if (kShape.form == ScaleForm::codes && n_tiles > 1)
        return rows_of_tiles<kOf>(job, first_row, n_tiles);
      for (std::size_t t = 0; t < n_tiles; ++t) {
        const std::size_t block = t * job.n_blocks * kTokens;
        rows<kOf, kTokens>(job, first_row, job.x.codes + block * Dot::kWords,
                           job.x.words + block * kBlockWords,
                           job.out + t * kTokens * job.out_stride + first_row, job.out_stride);
      }
    };
    if constexpr (kPair != 0)
      if (job.next_group != 0) return all(Index<kPair>{}, 0);
    for (std::size_t row = 0; row < kGroupRows; row += V::kFloats * kVectors)
      all(Index<kVectors>{}, row);
  }

  // The tokens behind the first n_done.
  static void rest(const RepackedJob& job, std::size_t n_done) {
    const std::int32_t* x = job.x.codes + job.n_blocks * Dot::kWords * n_done;
    const std::int32_t* words = job.x.words + job.n_blocks * kBlockWords * n_done;
    float* out = job.out + n_done * job.out_stride;
    std::size_t left = job.n_tokens - n_done;
    const auto tiles_of = [&](auto tokens) SATCHEL_INLINE_LAMBDA {
      constexpr std::size_t kTokens = decltype(tokens)::value;
      for (; left >= kTokens; left -= kTokens) {
        group<kTokens>(job, x, words, out);
        x += job.n_blocks * Dot::kWords * kTokens;
        words += job.n_blocks * kBlockWords * kTokens;
        out += kTokens * job.out_stride;
      }
    };
    tiles_of(Index<V::kTile>{});
    if constexpr (V::kTile > 4) tiles_of(Index<4>{});
    tiles_of(Index<2>{});
    tiles_of(Index<1>{});
  }

  static void run(RepackedJob job) {
    std::size_t n_tiles = job.n_rows == kGroupRows ? job.n_tokens / V::kTile : 0;
    if (kPair == 0 && job.next_group != 0) {  // one after the other
      RepackedJob second = job;
      second.group += job.next_group;
      second.out += kGroupRows;
      job.next_group = second.next_group = 0;
      run(second);
    }
    if (n_tiles != 0) tiles(job, n_tiles);
    rest(job, n_tiles * V::kTile);
  }
};

template <template <class, WeightType> class Dot, class V>
void matmul_repacked(const RepackedJob& job) {
  bool known = false;
  unroll<0, std::size(kQuantFormats)>([&](auto i) SATCHEL_INLINE_LAMBDA {
    using DotOfType = Dot<V, kQuantFormats[decltype(i)::value].type>;
    if constexpr (DotOfType::kMeets) {
      if (job.type != DotOfType::kType) return;
      RepackedKernel<DotOfType>::run(job);
      known = true;
    }
  });
  if (!known) __builtin_trap();  // the driver sends no other type
}

}  // namespace
}  // namespace satchel::kernels::cpu
