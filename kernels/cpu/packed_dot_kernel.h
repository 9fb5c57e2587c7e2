// Products of rows of 2-bit codes with rows of fp32, by integers: the rows of fp32 are folded with the
// scales of each group to 16 bits and one fp32 factor, the dot product is exact in int32, and the
// zeros become one fp32 number per group (attend_packed_kernel.h says how attention is made of it).
#pragma once

#include "kernels/base/half.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kDotRows = 16;  // rows of codes a call takes; every group is a multiple

// Rows of kWords words of 2-bit codes, in up to kGroups groups of rows.
template <class V, std::size_t kWords, std::size_t kGroups>
struct PackedDot {
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr std::size_t kPairs = 8 * kWords;  // 32-bit pairs of values in a row
  static constexpr std::size_t kRegisters = kDotRows * kWords / V::kLanes;

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
    alignas(64) float factor[kAll], offset[kAll];  // [kRows, kGroups], to whole reductions
  };
  struct Planes {
    const std::byte* scales;  // [n_groups, 16 · kWords] fp16 in storage order
    const std::byte* zeros;
    std::size_t n_groups;
  };

  template <class Body>
  SATCHEL_INLINE void for_pairs(const Body& body) {
    unroll<0, kPairs / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      body(i.value * V::kLanes);
    });
  }

  // One row of a scale or zero plane: fp16 in storage order to fp32 planes.
  SATCHEL_INLINE void load_plane(const std::byte* halves, Plane& plane) {
    __m256 turned[kWords];
    transpose_words<kWords>(halves, turned);
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

  // What rounding leaves meets the mean code, 1.5, in the offset: only the codes' spread errs.
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
    return V::fma(left, V::broadcast_float(1.5f * factor), V::add(even, odd));
  }

  // Rows of x lie 2 · kPairs floats apart, in the order of attend_packed.h.
  template <std::size_t kRows>
  SATCHEL_INLINE void fold_all(const float* x, const Planes& planes, Folding<kRows>& out) {
    constexpr std::size_t kRowBytes = 2 * kPairs * sizeof(Half);
    constexpr std::size_t kAll = Folding<kRows>::kAll;
    Plane scales[kGroups];
    Float reduced[kAll];  // one register for each row and group, until 16 of them are reduced
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t g = planes.n_groups; g < kGroups; ++g)
        reduced[r * kGroups + g] = V::zero_float();
    for (std::size_t i = kRows * kGroups; i < kAll; ++i) reduced[i] = V::zero_float();
    for (std::size_t g = 0; g < planes.n_groups; ++g) {
      load_plane(planes.scales + g * kRowBytes, scales[g]);
      for (std::size_t r = 0; r < kRows; ++r)
        reduced[r * kGroups + g] = largest_of(x + r * 2 * kPairs, scales[g]);
    }
    alignas(64) float units[kAll];
    for (std::size_t i = 0; i < kAll; i += kDotRows)
      V::units_of_registers(reduced + i, units + i, out.factor + i);
    for (std::size_t g = 0; g < planes.n_groups; ++g) {
      Plane zeros;
      load_plane(planes.zeros + g * kRowBytes, zeros);
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t i = r * kGroups + g;
        reduced[i] =
            fold(x + r * 2 * kPairs, units[i], out.factor[i], scales[g], zeros, out.codes[g][r]);
      }
    }
    for (std::size_t i = 0; i < kAll; i += kDotRows) V::sum_registers(reduced + i, out.offset + i);
  }

  // sums[r][k] = codes of row k with those of query row r, for 16 rows of codes one after another.
  template <std::size_t kRows>
  SATCHEL_INLINE void dot_rows(const std::byte* codes, const Folded* folded,
                               float (*sums)[kDotRows]) {
    Int partial[kRows][kRegisters];
    const Int mask = V::words(3);
    for (std::size_t k = 0; k < kRegisters; ++k) {
      const Int words = V::load(codes + k * sizeof(Int));
      const std::size_t part = kWords > V::kLanes ? k % 2 * V::kLanes : 0;
      Int sum[kRows];
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) { sum[r.value] = V::zero(); });
      unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
        const Int pair = V::and_(V::template shift_right<2 * i.value>(words), mask);
        unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
          sum[r.value] =
              V::dot(sum[r.value], pair,
                     V::template load_words<kWords>(folded[r.value] + i.value * kWords + part));
        });
      });
      unroll<0, kRows>([&](auto r)
                           __attribute__((always_inline)) { partial[r.value][k] = sum[r.value]; });
    }
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      V::template sum_rows<kWords>(partial[r.value], sums[r.value]);
    });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
