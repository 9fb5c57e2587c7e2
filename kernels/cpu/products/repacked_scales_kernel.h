// Decodes the scales of one unit of a group of repacked rows to fp32, for the registers `V` of a
// level. Layouts: repacked_weight.h.
//   codes  are unpacked once for the eight blocks of their unit; a scale is d * (code - offset),
//          rounded like the reference
#pragma once

#include <cstddef>

#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {
namespace {

// Of kVectors registers of rows; where they are more than a group has, each holds the first rows of
// a group of its own.
template <class V, WeightType kType, std::size_t kVectors>
struct RepackedScales {
  static constexpr QuantFormat kShape = quant_format(kType);
  static constexpr std::size_t kCodes = kShape.scale_codes(), kHalf = kCodes / 2;
  static constexpr std::size_t kFactorsAt = kShape.scale_code_bytes() * kGroupRows;
  static constexpr bool kUnpacked = kShape.form == ScaleForm::codes;
  using Int = typename V::Int;
  using Float = typename V::Float;

  static constexpr bool kOfGroups = kVectors * V::kFloats > kGroupRows;
  static constexpr std::size_t kRowStep = kOfGroups ? 0 : V::kFloats;  // from register to register

  alignas(64) float product[kUnpacked ? kCodes : 1][kVectors * V::kFloats];
  const std::byte* at;         // the rows' place in the unit's first run of 16
  std::size_t next_group = 0;  // bytes from group to group, of kOfGroups

  // `scales` begins the unit's scales, for the rows from first_row on.
  [[gnu::always_inline]] inline void read(const std::byte* scales, std::size_t first_row) {
    constexpr std::size_t kBytes = kShape.form == ScaleForm::half ? 2 : 1;  // of a row
    at = scales + first_row * kBytes;
    if constexpr (kUnpacked)
      unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
        const std::size_t group = v * next_group;
        unpack(v, at + group + v * kRowStep,
               scales + group + kFactorsAt + (first_row + v * kRowStep) * 2);
      });
  }

  // Scale `index` of block `block` of the unit, or, after the scales, its minimum.
  [[gnu::always_inline]] inline Float scale(std::size_t block, std::size_t index,
                                            std::size_t v) const {
    if constexpr (kUnpacked)
      return V::load_float(product[block * kShape.scales + index] + v * V::kFloats);
    else if constexpr (kShape.form == ScaleForm::exponent)
      return V::half_of_e8m0(V::load_rows(at + v * next_group + v * kRowStep));
    else
      return V::load_half(at + v * next_group + v * kRowStep * 2);
  }
  [[gnu::always_inline]] inline Float minimum(std::size_t block, std::size_t index,
                                              std::size_t v) const {
    if constexpr (kUnpacked)
      return V::load_float(product[kHalf + block * kShape.scales + index] + v * V::kFloats);
    else
      return V::load_half(at + v * next_group + (kGroupRows + v * kRowStep) * 2);
  }

 private:
  template <std::size_t kByte>
  SATCHEL_INLINE Int rows_of(const std::byte* codes) {
    return V::load_rows(codes + kByte * kGroupRows);
  }

  [[gnu::always_inline]] inline void unpack(std::size_t v, const std::byte* codes,
                                            const std::byte* factors) {
    const Float d = V::load_half(factors);
    Float of_second = d;
    if constexpr (kShape.has_minimum)
      of_second = V::mul(V::load_half(factors + kGroupRows * 2), V::broadcast_float(-1.0f));
    const auto put = [&](auto k, Int code) SATCHEL_INLINE_LAMBDA {
      constexpr auto kOffset = static_cast<float>(kShape.scale_offset);
      Float value = V::to_float(code);
      if constexpr (kOffset != 0) value = V::sub(value, V::broadcast_float(kOffset));
      V::store(product[k] + v * V::kFloats, V::mul(k < kHalf ? d : of_second, value));
    };
    if constexpr (kShape.scale_bits == 8)
      unroll<0, kCodes>([&](auto k)
                            SATCHEL_INLINE_LAMBDA { put(k, rows_of<decltype(k)::value>(codes)); });
    else
      unroll<0, kHalf>([&](auto k) SATCHEL_INLINE_LAMBDA {
        constexpr std::size_t kIndex = decltype(k)::value;
        const Int byte = rows_of<kIndex>(codes);
        put(k, V::and_(byte, V::words((1 << (kShape.scale_bits == 6 ? 6 : 4)) - 1)));
        Int second = V::template shift_right<4>(byte);
        if constexpr (kShape.scale_bits == 6) {
          const Int top = V::and_(V::template shift_right<2>(byte), V::words(48));
          const Int low = rows_of<kHalf + kIndex % (kHalf / 2)>(codes);
          second =
              kIndex < kHalf / 2 ? V::and_(low, V::words(15)) : V::template shift_right<4>(low);
          second = V::or_(second, top);
        }
        put(Index<kHalf + kIndex>{}, second);
      });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
