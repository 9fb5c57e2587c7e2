// Products of rows of codes with rows of fp32, by integers: the rows of fp32 are folded with the
// scales of each group to 16 bits and one fp32 factor, the dot product is exact in int32, and the
// zeros become one fp32 number per group (attend_packed_kernel.h says how attention is made of it).
#pragma once

#include "kernels/base/half.h"
#include "kernels/cpu/attend_packed.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kDotRows = 16;  // rows of codes a call takes; every group is a multiple

// Rows of kEntries codes of kBits bits, in up to kGroups groups of rows.
template <class V, std::size_t kBits, std::size_t kEntries>
struct PackedDot {
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr PackedWords kShape = PackedWords::of(kBits, kEntries);
  static constexpr std::size_t kWords = kShape.padded, kPairsOfWord = kShape.pairs_of_word;
  static constexpr std::size_t kPairs = kShape.pairs();  // 32-bit pairs of values in a row
  static constexpr std::size_t kRowBytes = kEntries * kBits / 8;
  // K has a page's tokens in groups, V the channels.
  static constexpr std::size_t kGroups = (kEntries == 256 ? kTileTokens : 256) / 16;
  static_assert(kEntries * 32767 * ((1u << kBits) - 1) < 1u << 31);  // a sum fits

  // A register holds some rows, or a row some registers.
  static constexpr std::size_t kOfRow = kWords > V::kLanes ? kWords / V::kLanes : 1;
  static constexpr std::size_t kRowsAtOnce = kWords < V::kLanes ? V::kLanes / kWords : 1;
  static constexpr std::size_t kRegisters = kDotRows / kRowsAtOnce;

  struct Plane {
    alignas(64) float even[kPairs], odd[kPairs];
  };
  using Folded = std::uint32_t[kPairs];
  // Query rows (or weights) times the scales of each group, in 16 bits:
  // Σ x·(scale·code + zero) ≈ factor · Σ codes·code + offset
  template <std::size_t kRows>
  struct Folding {
    static constexpr std::size_t kAll = (kRows * kGroups + kDotRows - 1) / kDotRows * kDotRows;
    alignas(64) Folded codes[kGroups][kRows];
    alignas(64) float factor[kAll], offset[kAll];  // [n_groups, kRows], to whole reductions
  };

  template <class Body>
  SATCHEL_INLINE void for_pairs(const Body& body) {
    unroll<0, kPairs / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      body(i.value * V::kLanes);
    });
  }

  // One row of a scale or zero plane: fp16 in storage order to fp32 planes.
  SATCHEL_INLINE void load_plane(const std::byte* halves, Plane& plane) {
    __m256 turned[kPairs / 8];
    transpose_words<kWords, kPairsOfWord, kEntries / 16>(halves, turned);
    unroll<0, kPairs / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      const Float pairs = V::joined(turned, i.value);
      V::store(plane.even + i.value * V::kLanes, V::low_halves(pairs));
      V::store(plane.odd + i.value * V::kLanes, V::high_halves(pairs));
    });
  }

  // The largest |x·scale|, still lane by lane.
  SATCHEL_INLINE Float largest_of(const float* x, const Plane& scales) {
    Float most = V::zero_float();
    for_pairs([&](std::size_t i) __attribute__((always_inline)) {
      const Float e = V::mul(V::load_float(x + i), V::load_float(scales.even + i));
      const Float o = V::mul(V::load_float(x + kPairs + i), V::load_float(scales.odd + i));
      most = V::max(most, V::max(V::magnitude(e), V::magnitude(o)));
    });
    return most;
  }

  // What rounding leaves meets the mean code in the offset: only the codes' spread errs.
  SATCHEL_INLINE Float fold(const float* x, float units, float factor, const Plane& scales,
                            const Plane& zeros, Folded& folded) {
    const Float to_units = V::broadcast_float(units);
    Float left = V::zero_float(), even = V::zero_float(), odd = V::zero_float();
    for_pairs([&](std::size_t i) __attribute__((always_inline)) {
      const Float x_even = V::load_float(x + i), x_odd = V::load_float(x + kPairs + i);
      const Float e = V::mul(V::mul(x_even, to_units), V::load_float(scales.even + i));
      const Float o = V::mul(V::mul(x_odd, to_units), V::load_float(scales.odd + i));
      const Int e_units = V::round_to_int(e), o_units = V::round_to_int(o);
      V::store_int(folded + i, V::pairs_of(e_units, o_units));
      left = V::add(left, V::add(V::sub(e, V::to_float(e_units)), V::sub(o, V::to_float(o_units))));
      even = V::fma(x_even, V::load_float(zeros.even + i), even);
      odd = V::fma(x_odd, V::load_float(zeros.odd + i), odd);
    });
    constexpr float kMean = ((1u << kBits) - 1) * 0.5f;
    return V::fma(left, V::broadcast_float(kMean * factor), V::add(even, odd));
  }

  // Rows of x lie 2 · kPairs floats apart, as planes (attend_packed.h).
  template <std::size_t kRows>
  SATCHEL_INLINE void fold_all(const float* x, const AffinePlanes& planes, std::size_t n_groups,
                               Folding<kRows>& out) {
    constexpr std::size_t kPlaneBytes = kEntries * sizeof(Half);
    const std::size_t n_all = n_groups * kRows;
    Plane scales[kGroups];
    Float reduced[Folding<kRows>::kAll];  // a register for each row and group, to be reduced
    for (std::size_t i = n_all; i % kDotRows != 0; ++i) reduced[i] = V::zero_float();
    for (std::size_t g = 0; g < n_groups; ++g) {
      load_plane(planes.scales + g * kPlaneBytes, scales[g]);
      for (std::size_t r = 0; r < kRows; ++r)
        reduced[g * kRows + r] = largest_of(x + r * 2 * kPairs, scales[g]);
    }
    alignas(64) float units[Folding<kRows>::kAll];
    for (std::size_t i = 0; i < n_all; i += kDotRows)
      V::units_of_registers(reduced + i, units + i, out.factor + i);
    for (std::size_t g = 0; g < n_groups; ++g) {
      Plane zeros;
      load_plane(planes.zeros + g * kPlaneBytes, zeros);
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t i = g * kRows + r;
        reduced[i] =
            fold(x + r * 2 * kPairs, units[i], out.factor[i], scales[g], zeros, out.codes[g][r]);
      }
    }
    for (std::size_t i = 0; i < n_all; i += kDotRows) V::sum_registers(reduced + i, out.offset + i);
  }

  SATCHEL_INLINE Int load_codes(const std::byte* rows, std::size_t part) {
    if constexpr (kBits == 8)
      return V::widen_bytes(rows + part * sizeof(Int) / 2);
    else if constexpr (kShape.words == kWords)
      return V::load(rows + part * sizeof(Int));
    else
      return V::template load_filled<kShape.words, kWords>(rows, part);
  }
  // Of each word the pair that comes `kPair`-th.
  template <std::size_t kPair>
  SATCHEL_INLINE Int pairs_of_words(Int words) {
    constexpr int kShift = static_cast<int>(kPair * kBits);
    const Int shifted = V::template shift_right<kShift>(words);
    if constexpr (kPair + 1 == kPairsOfWord)
      return shifted;  // nothing stands above it
    else
      return V::and_(shifted, V::words((1 << kBits) - 1));
  }

  // sums[r][k] = codes of row k with those of query row r, for 16 rows of codes one after another.
  template <std::size_t kRows>
  SATCHEL_INLINE void dot_rows(const std::byte* codes, const Folded* folded,
                               float (*sums)[kDotRows]) {
    constexpr std::size_t kRepeated = kWords < V::kLanes ? kWords : V::kLanes;
    Int partial[kRows][kRegisters];
    for (std::size_t k = 0; k < kRegisters; ++k) {
      Int sum[kRows];
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) { sum[r.value] = V::zero(); });
      for (std::size_t part = 0; part < kOfRow; ++part) {
        const Int words = load_codes(codes + k * kRowsAtOnce * kRowBytes, part);
        unroll<0, kPairsOfWord>([&](auto i) __attribute__((always_inline)) {
          const Int pair = pairs_of_words<i.value>(words);
          unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
            const std::uint32_t* at = folded[r.value] + i.value * kWords + part * V::kLanes;
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
