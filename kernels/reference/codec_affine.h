// The quantiser U(b): one scale and one minimum for a group of values, or, symmetric, one scale.
//   bound   |x - decode(encode(x))| <= scale / 2 + rounding of fp32, because the minimum is rounded
//           down and the scale up before the codes are computed, from the stored halves; where the
//           range is clipped (contract/clipping.h), for the values within it
//   bytes   every operation is one rounding of fp32 (no fused multiply-add), so any machine that
//           does the same ones gives the same bytes; a minimum of -0 is stored as +0
//   source  arXiv:2402.02750 (KIVI) section 3.1, "round to the nearest" with a zero point; the
//           direction of rounding is ours
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/half.h"
#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

struct AffineKind {
  std::size_t bits = 2;
  bool symmetric = false, clips = false;

  float top() const { return static_cast<float>((1u << bits) - 1); }
};

struct AffineGroup {
  Half scale = 0, zero = 0;  // symmetric: zero is not stored
};

// Replaces NaN by 0 and clamps to ±60000; counts NaN and infinities.
void mend(std::span<float> x, NumericWarnings& warnings);
// Mends x in place and writes one code per value.
AffineGroup encode_group(std::span<float> x, const AffineKind& kind, std::span<std::uint8_t> codes,
                         NumericWarnings& warnings);

inline float decode_value(const AffineKind& kind, AffineGroup group, unsigned code) {
  const auto value = static_cast<float>(code);
  const float scale = half_to_float(group.scale);
  if (kind.symmetric) return (value - kind.top() * 0.5f) * scale;  // a half: exact
  return value * scale + half_to_float(group.zero);
}

}  // namespace satchel::kernels::reference
