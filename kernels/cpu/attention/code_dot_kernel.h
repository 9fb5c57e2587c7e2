// Integer products of rows of codes with fp32 rows. The fp32 rows are multiplied by each group's
// scales and rounded to 16 bits with one fp32 factor. The dot product is exact in int32, and the
// zeros become one fp32 number per group (attend_codes_kernel.h has its use in attention).
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/base/half.h"
#include "kernels/cpu/attention/attend_codes.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/levels/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kDotRows = 16;      // rows of codes a call takes; every group is a multiple
constexpr std::size_t kFewRegisters = 4;  // that are reduced together where there are no more

// Prefetches a part of the next page at each step, because hardware prefetching ends at 4 KiB. The
// parts are small, because the processor stalls when too many requests are pending.
struct CodePrefetch {
  const std::byte* next;  // or null
  const std::byte* end;
  std::size_t bytes_of_step;
  bool into_l2;

  // A step for two parts of mixed-bit keys, for each row of weights, for each group that is folded,
  // twice, and for half of kDotRows rows of codes.
  SATCHEL_INLINE CodePrefetch of(const CodeTile& tile, const LaneRows& all, std::size_t n_rows) {
    const KeyParts* const parts = tile.mixed_bit_k.parts;
    const std::size_t of_keys =
        parts != nullptr ? (parts->n_of_bits[0] + parts->n_of_bits[1] + parts->n_of_bits[2]) / 2
                         : 2 * (tile.capacity / kDotRows + tile.capacity / tile.k.group);
    const std::size_t steps =
        of_keys + n_rows + 2 * (all.head_dim / kDotRows + all.head_dim / tile.v.group);
    const std::size_t lines = (tile.next_bytes / steps + 63) / 64;
    return {tile.next, tile.next + (tile.next == nullptr ? 0 : tile.next_bytes), 64 * lines,
            all.asks_into_l2};
  }
  [[gnu::always_inline]] inline void step() {
    if (next == end) return;
    const std::byte* to = next + bytes_of_step;
    to = to < end ? to : end;
    for (; next < to; next += 64) ask_for(next, into_l2);
  }
};

// Rows of kEntries codes of kBits bits, in up to kGroups groups of rows.
template <class V, std::size_t kBits, std::size_t kEntries>
struct CodeDot {
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr CodeWords kShape = CodeWords::of(kBits, kEntries);
  static constexpr std::size_t kWords = kShape.padded, kPairsOfWord = kShape.pairs_of_word;
  static constexpr std::size_t kPairs = kWords * kPairsOfWord;  // 32-bit pairs of values in a row
  static constexpr std::size_t kCodeBits = kBits == 3 ? 2 : kBits;  // in the words of `codes`
  static constexpr std::size_t kRowBytes = kEntries * kCodeBits / 8;
  static constexpr std::size_t kLowRowBytes = kBits == 3 ? kEntries / 8 : 0;
  // K has a page's tokens in groups, V the channels.
  static constexpr std::size_t kGroups = (kEntries == 256 ? kTileTokens : 256) / 16;
  static_assert(kEntries * 32767 * ((1u << kBits) - 1) < 1u << 31);  // a sum fits

  // A register holds some rows, or a row some registers.
  static constexpr std::size_t kOfRow = kWords > V::kFloats ? kWords / V::kFloats : 1;
  static constexpr std::size_t kRowsAtOnce = kWords < V::kFloats ? V::kFloats / kWords : 1;
  static constexpr std::size_t kRegisters = kDotRows / kRowsAtOnce;

  static constexpr std::size_t kSlots = 2 * kPairs;

  // A row of more than four words is taken in pieces of four, of neighbouring rows side by side, so
  // that little is left to be summed within registers.
  static constexpr bool kByPieces =
      (kBits == 2 || kBits == 4) && kShape.words == kWords && kWords > 4;
  static constexpr std::size_t kPieceWords = 4, kFours = kPairsOfWord / 2;

  using Plane = float[kSlots];
  using Folded = std::uint32_t[kPairs];
  // Query rows (or weights) times the scales of each group, in 16 bits:
  // Σ x·(scale·code + zero) ≈ factor · Σ codes·code + offset
  template <std::size_t kRows>
  struct Folding {
    static constexpr std::size_t kAll = (kRows * kGroups + kDotRows - 1) / kDotRows * kDotRows;
    alignas(64) Folded codes[kGroups][kRows];      // plane [i][w] holds pair i of word w
    alignas(64) float factor[kAll], offset[kAll];  // [n_groups, kRows], to whole reductions
  };

  // One row of a scale or zero plane.
  SATCHEL_INLINE void load_plane(const std::byte* from, float* plane) {
    const auto* halves = reinterpret_cast<const Half*>(from);
    unroll<0, kSlots / V::kFloats>([&](auto i) __attribute__((always_inline)) {
      constexpr std::size_t at = i.value * V::kFloats;
      V::store(plane + at, at < kEntries ? V::load_half(halves + at) : V::zero_float());
    });
  }

  // The largest |x·scale|, still element by element.
  SATCHEL_INLINE Float largest_of(const float* x, const float* scales) {
    Float most = V::zero_float();
    unroll<0, kSlots / V::kFloats>([&](auto i) __attribute__((always_inline)) {
      constexpr std::size_t at = i.value * V::kFloats;
      most = V::max(most, V::magnitude(V::mul(V::load_float(x + at), V::load_float(scales + at))));
    });
    return most;
  }

  // The rounding error (sum of exact values less sum of rounded ones) times the mean code is added
  // to the offset, so that only the codes' spread about their mean has an error. For symmetric
  // codes (no zeros) the offset subtracts the mean code.
  // Not inlined, because every number of rows would have a copy.
  template <bool kSymmetric>
  [[gnu::noinline]] static Float fold(const float* x, float units, float factor,
                                      const float* scales, const float* zeros, Folded& folded) {
    constexpr float kMean = ((1u << kBits) - 1) * 0.5f;
    const Float to_units = V::broadcast_float(units);
    const Int ones = V::words(1);
    Float exact = V::zero_float(), offset = V::zero_float();
    Int rounded = V::zero(), pairs[kPairs / V::kFloats];
    unroll<0, kPairs / V::kFloats>([&](auto i) __attribute__((always_inline)) {
      Int codes[2];
      unroll<0, 2>([&](auto half) __attribute__((always_inline)) {
        constexpr std::size_t at = (2 * i.value + half.value) * V::kFloats;
        const Float from = V::load_float(x + at);
        const Float value = V::mul(V::mul(from, to_units), V::load_float(scales + at));
        if constexpr (!kSymmetric) {
          exact = V::add(exact, value);
          offset = V::fma(from, V::load_float(zeros + at), offset);
        }
        codes[half.value] = V::round_to_int(value);
      });
      pairs[i.value] = V::packed(codes[0], codes[1]);
      rounded = V::dot(rounded, pairs[i.value], ones);
    });
    V::template store_pairs<kWords, kPairsOfWord>(pairs, folded);
    if constexpr (kByPieces) pairs_to_fours(folded);
    return V::fma(V::sub(exact, V::to_float(rounded)), V::broadcast_float(kMean * factor), offset);
  }

  // Plane i < kFours and plane kFours + i: the two words of values that meet the codes of bits
  // i · kBits of each byte.
  SATCHEL_INLINE void pairs_to_fours(Folded& folded) {
    unroll<0, kPairs / V::kFloats / 2>([&](auto i) __attribute__((always_inline)) {
      std::uint32_t* const at = folded + i.value * V::kFloats;
      Int first = V::load(at), second = V::load(at + kPairs / 2);
      V::pairs_to_fours(first, second);
      V::store_int(at, first);
      V::store_int(at + kPairs / 2, second);
    });
  }

  // Rows of x lie kSlots floats apart, in the order of slots.
  template <std::size_t kRows>
  SATCHEL_INLINE void fold_all(const float* x, const AffinePlanes& planes, std::size_t n_groups,
                               CodePrefetch& prefetch, Folding<kRows>& out) {
    constexpr std::size_t kPlaneBytes = kEntries * sizeof(Half);
    const std::size_t n_all = n_groups * kRows;
    alignas(64) Plane scales[kGroups];
    Float reduced[Folding<kRows>::kAll];  // a register for each row and group, to be reduced
    const bool few = n_all <= kFewRegisters;
    for (std::size_t i = n_all; i % (few ? kFewRegisters : kDotRows) != 0; ++i)
      reduced[i] = V::zero_float();
    for (std::size_t g = 0; g < n_groups; ++g) {
      prefetch.step();
      load_plane(planes.scales + g * kPlaneBytes, scales[g]);
      for (std::size_t r = 0; r < kRows; ++r)
        reduced[g * kRows + r] = largest_of(x + r * kSlots, scales[g]);
    }
    alignas(64) float units[Folding<kRows>::kAll];
    if (few)
      V::template units_of_registers<kFewRegisters>(reduced, units, out.factor);
    else
      for (std::size_t i = 0; i < n_all; i += kDotRows)
        V::units_of_registers(reduced + i, units + i, out.factor + i);
    for (std::size_t g = 0; g < n_groups; ++g) {
      prefetch.step();
      if (planes.zeros == nullptr) {
        for (std::size_t r = 0, i = g * kRows; r < kRows; ++r, ++i)
          reduced[i] = fold<true>(x + r * kSlots, units[i], out.factor[i], scales[g], nullptr,
                                  out.codes[g][r]);
        continue;
      }
      alignas(64) Plane zeros;
      load_plane(planes.zeros + g * kPlaneBytes, zeros);
      for (std::size_t r = 0, i = g * kRows; r < kRows; ++r, ++i)
        reduced[i] =
            fold<false>(x + r * kSlots, units[i], out.factor[i], scales[g], zeros, out.codes[g][r]);
    }
    if (few)
      V::template sum_registers<kFewRegisters>(reduced, out.offset);
    else
      for (std::size_t i = 0; i < n_all; i += kDotRows)
        V::sum_registers(reduced + i, out.offset + i);
  }

  // Rows of codes one after another, and their lowest bits where they lie apart.
  struct Rows {
    const std::byte *codes, *low;
  };
  SATCHEL_INLINE Rows rows_at(const AffinePlanes& planes, std::size_t row) {
    Rows rows{planes.codes + row * kRowBytes, nullptr};
    if constexpr (kLowRowBytes != 0) rows.low = planes.low_codes + row * kLowRowBytes;
    return rows;
  }

  SATCHEL_INLINE Int load_codes(const std::byte* rows, std::size_t part) {
    if constexpr (kBits == 8)
      return V::widen_bytes(rows + part * sizeof(Int) / 2);
    else if constexpr (kShape.words == kWords)
      return V::load(rows + part * sizeof(Int));
    else
      return V::template load_filled<kShape.words, kWords>(rows, part);
  }
  // The lowest bits that belong to the words of load_codes(); nothing where these hold all bits.
  SATCHEL_INLINE Int load_low(const std::byte* rows, std::size_t part) {
    if constexpr (kLowRowBytes != 0)
      return V::template spread_bits<kShape.words, kWords>(rows + part * sizeof(Int) / 2);
    else
      return V::zero();
  }
  // Of each word the pair that comes `kPair`-th.
  template <std::size_t kPair>
  SATCHEL_INLINE Int pairs_of_words(Int words, [[maybe_unused]] Int low) {
    constexpr int kShift = static_cast<int>(kPair * kCodeBits);
    if constexpr (kLowRowBytes != 0) {
      const Int upper = V::and_(V::template shift_right<kShift - 1>(words), V::words(6));
      constexpr int kLowShift = static_cast<int>(kPair);
      return V::or_(upper, V::and_(V::template shift_right<kLowShift>(low), V::words(1)));
    } else {
      const Int shifted = V::template shift_right<kShift>(words);
      if constexpr (kPair + 1 == kPairsOfWord)
        return shifted;  // nothing stands above it
      else
        return V::and_(shifted, V::words((1 << kBits) - 1));
    }
  }

  // sums[r][k] = codes of row k with those of query row r, for 16 rows of codes one after another.
  template <std::size_t kRows>
  SATCHEL_INLINE void dot_rows(const Rows& rows, const Folded* folded, CodePrefetch& prefetch,
                               float (*sums)[kDotRows]) {
    if constexpr (kByPieces) {
      dot_pieces<kRows>(rows.codes, folded, prefetch, sums);
    } else {
      prefetch.step();
      prefetch.step();
      dot_words<kRows>(rows, folded, sums);
    }
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void dot_pieces(const std::byte* rows, const Folded* folded,
                                 CodePrefetch& prefetch, float (*sums)[kDotRows]) {
    constexpr std::size_t kSide = V::kFloats / kPieceWords;  // rows side by side
    constexpr std::size_t kAll = kDotRows / kSide;           // registers of sums of a row of values
    constexpr std::size_t kFit = std::max<std::size_t>(std::bit_floor(V::kFourSums / kRows), 1);
    constexpr std::size_t kTogether = std::min(kFit, kAll / 2);
    Int totals[kRows][kAll];
    const auto step = [&](auto first) SATCHEL_INLINE_LAMBDA {
      if (first % (kAll / 2) == 0) prefetch.step();
      typename V::FourSums of_rows[kRows][kTogether];
      unroll_both<kRows, kTogether>([&](auto r, auto t) SATCHEL_INLINE_LAMBDA {
        of_rows[r.value][t.value] = V::FourSums::none();
      });
      // Else g++ keeps a step's registers of values for the next one, and spills them.
      const Folded* values = folded;
      __asm__("" : "+r"(values));
      add_pieces<kRows, kTogether>(rows + first * kSide * kRowBytes, values, of_rows);
      unroll_both<kRows, kTogether>([&](auto r, auto t) SATCHEL_INLINE_LAMBDA {
        totals[r.value][first + t.value] = V::total(of_rows[r.value][t.value]);
      });
    };
    if constexpr (kAll / kTogether <= 2) {
      step(Index<0>{});
      step(Index<kTogether>{});
    } else {
      for (std::size_t first = 0; first < kAll; first += kTogether) step(first);
    }
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      V::template sum_rows<kPieceWords>(totals[r.value], sums[r.value]);
    });
  }

  template <std::size_t kRows, std::size_t kTogether>
  SATCHEL_INLINE void add_pieces(const std::byte* rows, const Folded* folded,
                                 typename V::FourSums (&sums)[kRows][kTogether]) {
    constexpr std::size_t kPieces = kWords / kPieceWords, kSide = V::kFloats / kPieceWords;
    using Pieces = typename V::template Pieces<kPieces>;
    const auto add = [&](const auto&... pieces) SATCHEL_INLINE_LAMBDA {
      const Pieces* const all[] = {&pieces...};
      unroll_both<kPieces, kFours>([&](auto p, auto i) SATCHEL_INLINE_LAMBDA {
        typename V::Four fours[kTogether];
        unroll<0, kTogether>([&](auto t) SATCHEL_INLINE_LAMBDA {
          fours[t.value] =
              V::template four<kBits, i.value * kBits>(all[t.value]->template get<p.value>());
        });
        unroll<0, kRows>([&](auto r) SATCHEL_INLINE_LAMBDA {
          const std::uint32_t* at = folded[r.value] + i.value * kWords + p.value * kPieceWords;
          const Int first = V::template load_words<kPieceWords>(at);
          const Int second = V::template load_words<kPieceWords>(at + kFours * kWords);
          unroll<0, kTogether>([&](auto t) SATCHEL_INLINE_LAMBDA {
            V::add_four(sums[r.value][t.value], fours[t.value], first, second);
          });
        });
      });
    };
    constexpr std::size_t kNext = kSide * kRowBytes;
    if constexpr (kTogether == 1)
      add(Pieces(rows));
    else if constexpr (kTogether == 2)
      add(Pieces(rows), Pieces(rows + kNext));
    else
      add(Pieces(rows), Pieces(rows + kNext), Pieces(rows + 2 * kNext), Pieces(rows + 3 * kNext));
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void dot_words(const Rows& rows, const Folded* folded, float (*sums)[kDotRows]) {
    constexpr std::size_t kRepeated = kWords < V::kFloats ? kWords : V::kFloats;
    Int partial[kRows][kRegisters];
    for (std::size_t k = 0; k < kRegisters; ++k) {
      Int sum[kRows];
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) { sum[r.value] = V::zero(); });
      for (std::size_t part = 0; part < kOfRow; ++part) {
        const Int words = load_codes(rows.codes + k * kRowsAtOnce * kRowBytes, part);
        const Int low = load_low(rows.low + k * kRowsAtOnce * kLowRowBytes, part);
        unroll<0, kPairsOfWord>([&](auto i) __attribute__((always_inline)) {
          const Int pair = pairs_of_words<i.value>(words, low);
          unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
            const std::uint32_t* at = folded[r.value] + i.value * kWords + part * V::kFloats;
            sum[r.value] = V::dot(sum[r.value], pair, V::template load_words<kRepeated>(at));
          });
        });
      }
      unroll<0, kRows>([&](auto r)
                           __attribute__((always_inline)) { partial[r.value][k] = sum[r.value]; });
    }
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      V::template sum_rows<kRepeated>(partial[r.value], sums[r.value]);
    });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
