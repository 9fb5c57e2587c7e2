#include "kernels/reference/codec_affine.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"

namespace satchel::kernels::reference {
namespace {

// Not 65504: minimum + top code · scale may pass the maximum by a rounding and must stay finite.
constexpr float kValueMax = 60000;

float mend_value(float x, Health& health) {
  if (std::isnan(x)) {
    ++health.n_nan;
    return 0;
  }
  if (std::isinf(x)) ++health.n_infinite;
  return std::clamp(x, -kValueMax, kValueMax);
}

}  // namespace

void mend(std::span<float> x, Health& health) {
  for (float& value : x) value = mend_value(value, health);
}

AffineGroup encode_group(std::span<float> x, std::size_t bits, std::span<std::uint8_t> codes,
                         Health& health) {
  SATCHEL_ASSERT(!x.empty() && codes.size() == x.size());
  mend(x, health);
  const auto [lo, hi] = std::minmax_element(x.begin(), x.end());
  const float top = static_cast<float>((1u << bits) - 1);
  AffineGroup group;
  group.zero = float_to_half_down(*lo + 0.0f);  // -0 + 0 is +0
  const float zero = half_to_float(group.zero);
  group.scale = float_to_half_up((*hi - zero) / top);
  const float scale = half_to_float(group.scale);
  if (!(scale > 0)) group.scale = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float code = scale > 0 ? std::nearbyint((x[i] - zero) / scale) : 0.0f;
    codes[i] = static_cast<std::uint8_t>(std::clamp(code, 0.0f, top));
  }
  return group;
}

}  // namespace satchel::kernels::reference
