#include "kernels/reference/codec_affine.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/contract/clipping.h"

namespace satchel::kernels::reference {
namespace {

// Not 65504: minimum + top code · scale may exceed the maximum by rounding and must stay finite.
constexpr float kValueMax = 60000;

float mend_value(float x, NumericWarnings& warnings) {
  if (std::isnan(x)) {
    ++warnings.n_nan;
    return 0;
  }
  if (std::isinf(x)) ++warnings.n_infinite;
  return std::clamp(x, -kValueMax, kValueMax);
}

// The whole range of a group, rounded outward.
AffineGroup widest_range(const AffineKind& kind, float low, float high) {
  if (kind.symmetric) {
    const float most = std::max(std::abs(low), std::abs(high));
    return {.scale = float_to_half_up(most * 2 / kind.top())};
  }
  AffineGroup group;
  group.zero = float_to_half_down(low + 0.0f);  // -0 + 0 is +0
  group.scale = float_to_half_up((high - half_to_float(group.zero)) / kind.top());
  if (!(half_to_float(group.scale) > 0)) group.scale = 0;
  return group;
}

// A share of it.
AffineGroup clipped_range(const AffineKind& kind, float low, float high, float share) {
  if (kind.symmetric) {
    const float reach = std::max(std::abs(low), std::abs(high)) * share;
    return {.scale = float_to_half(reach * 2 / kind.top())};
  }
  const float middle = (low + high) * 0.5f, reach = (high - low) * 0.5f * share;
  return {.scale = float_to_half(reach * 2 / kind.top()),
          .zero = float_to_half(middle - reach + 0.0f)};
}

unsigned code_of(const AffineKind& kind, AffineGroup group, float x) {
  const float scale = half_to_float(group.scale), top = kind.top();
  if (!(scale > 0)) return 0;
  const float code =
      kind.symmetric ? x / scale + top * 0.5f : (x - half_to_float(group.zero)) / scale;
  return static_cast<unsigned>(std::clamp(std::nearbyint(code), 0.0f, top));
}

float squared_error(const AffineKind& kind, AffineGroup group, std::span<const float> x) {
  float sum = 0;
  for (const float value : x) {
    const float off = value - decode_value(kind, group, code_of(kind, group, value));
    sum += off * off;
  }
  return sum;
}

AffineGroup range_of(const AffineKind& kind, std::span<const float> x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  AffineGroup best = widest_range(kind, *low, *high);
  if (!kind.clips) return best;
  float least = squared_error(kind, best, x);
  for (const float share : kClipShares) {
    const AffineGroup group = clipped_range(kind, *low, *high, share);
    const float error = squared_error(kind, group, x);
    if (group.scale == 0 || !(error < least)) continue;
    best = group;
    least = error;
  }
  return best;
}

}  // namespace

void mend(std::span<float> x, NumericWarnings& warnings) {
  for (float& value : x) value = mend_value(value, warnings);
}

AffineGroup encode_group(std::span<float> x, const AffineKind& kind, std::span<std::uint8_t> codes,
                         NumericWarnings& warnings) {
  SATCHEL_ASSERT(!x.empty() && codes.size() == x.size());
  mend(x, warnings);
  const AffineGroup group = range_of(kind, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    codes[i] = static_cast<std::uint8_t>(code_of(kind, group, x[i]));
  return group;
}

}  // namespace satchel::kernels::reference
