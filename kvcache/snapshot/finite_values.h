// Whether the values of a record are numbers. NaN or an infinity among K and V would reach every
// token that attends to them: what is restored has none, so none is saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/contract/page_layout.h"

namespace satchel::kvcache {

// No number has all bits of its exponent set: one more carries into the place of its sign. A word
// has several numbers.
inline bool are_finite(std::span<const std::byte> numbers, std::uint64_t exponents,
                       std::uint64_t ones) {
  std::uint64_t found = 0, word = 0;
  std::size_t i = 0;
  for (; numbers.size() - i >= sizeof word; i += sizeof word) {
    std::memcpy(&word, numbers.data() + i, sizeof word);
    found |= (word & exponents) + ones;
  }
  word = 0;
  std::memcpy(&word, numbers.data() + i, numbers.size() - i);
  found |= (word & exponents) + ones;
  return (found & (exponents + ones)) == 0;
}
inline bool are_finite_halves(std::span<const std::byte> halves) {
  return are_finite(halves, 0x7c00'7c00'7c00'7c00, 0x0400'0400'0400'0400);
}
inline bool are_finite_floats(std::span<const std::byte> floats) {
  return are_finite(floats, 0x7f80'0000'7f80'0000, 0x0080'0000'0080'0000);
}

// Planes of fp16 numbers; codes and places are what they are.
inline bool holds_halves(const kernels::Plane& plane) {
  return plane.bits == 16 && plane.kind != kernels::PlaneKind::codes &&
         plane.kind != kernels::PlaneKind::outlier_places &&
         plane.kind != kernels::PlaneKind::kept_channels;
}

// Those of a page.
inline bool are_finite_values(const kernels::PageLayout& layout, std::span<const std::byte> page) {
  for (const kernels::OperandLayout* operand : {&layout.k, &layout.v})
    for (const kernels::Plane& plane : operand->all())
      if (holds_halves(plane) && !are_finite_halves(page.subspan(plane.at, plane.bytes)))
        return false;
  const std::size_t n_counts = layout.log_counts_at == 0 ? 0 : layout.capacity * sizeof(float);
  return are_finite_floats(page.subspan(layout.log_counts_at, n_counts));
}

}  // namespace satchel::kvcache
