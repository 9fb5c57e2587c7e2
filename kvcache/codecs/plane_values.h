// Access to single values of a plane, for codecs with loops of their own. `i` is the index of a
// value. It is not checked: the caller checks indices that come from the page itself.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels/base/half.h"
#include "kernels/base/load_number.h"
#include "kernels/contract/page_layout.h"

namespace satchel::kvcache {

using kernels::OperandCode, kernels::OperandLayout, kernels::Plane, kernels::PlaneKind;

inline Half half_at(const std::byte* page, const Plane& plane, std::size_t i) {
  return load_number<Half>(page + plane.at + i * sizeof(Half));
}
inline float float_at(const std::byte* page, const Plane& plane, std::size_t i) {
  return half_to_float(half_at(page, plane, i));
}
inline void put_half(std::byte* page, const Plane& plane, std::size_t i, Half h) {
  std::memcpy(page + plane.at + i * sizeof h, &h, sizeof h);
}
// The nearest half.
inline void put_float(std::byte* page, const Plane& plane, std::size_t i, double value) {
  put_half(page, plane, i, float_to_half(static_cast<float>(value)));
}

// Codes of 1 to 8 bits one after the other, low bits first: a code may begin in one byte and end in
// the next. The plane is zero before; each code is put once.
inline void put_code(std::byte* page, const Plane& codes, std::size_t i, unsigned code) {
  const std::size_t bit = i * codes.bits;
  std::byte* at = page + codes.at + bit / 8;
  const unsigned wide = code << (bit % 8);
  at[0] |= static_cast<std::byte>(wide & 0xffu);
  if (bit % 8 + codes.bits > 8) at[1] |= static_cast<std::byte>(wide >> 8);
}
inline unsigned code_at(const std::byte* page, const Plane& codes, std::size_t i) {
  const std::size_t bit = i * codes.bits;
  const std::byte* at = page + codes.at + bit / 8;
  unsigned wide = std::to_integer<unsigned>(at[0]);
  if (bit % 8 + codes.bits > 8) wide |= std::to_integer<unsigned>(at[1]) << 8;
  return (wide >> (bit % 8)) & ((1u << codes.bits) - 1);
}

}  // namespace satchel::kvcache
