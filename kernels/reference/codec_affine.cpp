#include "kernels/reference/codec_affine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/contract/row_order.h"
#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::reference {
namespace {

// Not 65504: minimum + top code · scale may pass the maximum by a rounding and must stay finite.
constexpr float kValueMax = 60000;

float mend(float x, EncodeHealth& health) {
  if (std::isnan(x)) {
    ++health.n_nan;
    return 0;
  }
  if (std::isinf(x)) ++health.n_infinite;
  return std::clamp(x, -kValueMax, kValueMax);
}

Half* plane(std::byte* page, std::size_t at) {
  return reinterpret_cast<Half*>(page + at);
}
const Half* plane(const std::byte* page, std::size_t at) {
  return reinterpret_cast<const Half*>(page + at);
}

using Group = std::array<float, 256>;
using Codes = std::array<std::uint8_t, 256>;

// Per channel, over the tokens of a group.
void encode_keys(const PageLayout& layout, const Half* k, std::byte* page, EncodeHealth& health) {
  const std::size_t head_dim = layout.head_dim, group = layout.k_group;
  Group x;
  Codes codes;
  for (std::size_t first = 0; first < kPageTokens; first += group) {
    for (std::size_t c = 0; c < head_dim; ++c) {
      for (std::size_t t = 0; t < group; ++t) x[t] = half_to_float(k[(first + t) * head_dim + c]);
      const AffineGroup head =
          encode_group({x.data(), group}, layout.k_bits, {codes.data(), group}, health);
      const std::size_t slot = slot_of_entry(head_dim, c);
      plane(page, layout.k_scale_at)[first / group * head_dim + slot] = head.scale;
      plane(page, layout.k_zero_at)[first / group * head_dim + slot] = head.zero;
      for (std::size_t t = 0; t < group; ++t)
        put_code(page + layout.k_codes_at + (first + t) * layout.k_row_bytes(), layout.k_bits, slot,
                 codes[t]);
    }
  }
}

// Per token, over the channels of a group; rows of codes are channels.
void encode_values(const PageLayout& layout, const Half* v, std::byte* page, EncodeHealth& health) {
  const std::size_t head_dim = layout.head_dim, group = layout.v_group;
  Group x;
  Codes codes;
  for (std::size_t t = 0; t < kPageTokens; ++t) {
    const std::size_t slot = slot_of_entry(kPageTokens, t);
    for (std::size_t first = 0; first < head_dim; first += group) {
      for (std::size_t c = 0; c < group; ++c) x[c] = half_to_float(v[t * head_dim + first + c]);
      const AffineGroup head =
          encode_group({x.data(), group}, layout.v_bits, {codes.data(), group}, health);
      plane(page, layout.v_scale_at)[first / group * kPageTokens + slot] = head.scale;
      plane(page, layout.v_zero_at)[first / group * kPageTokens + slot] = head.zero;
      for (std::size_t c = 0; c < group; ++c)
        put_code(page + layout.v_codes_at + (first + c) * layout.v_row_bytes(), layout.v_bits, slot,
                 codes[c]);
    }
  }
}

float decode_key(const PageLayout& layout, const std::byte* page, std::size_t t, std::size_t c) {
  const std::size_t slot = slot_of_entry(layout.head_dim, c);
  const std::size_t at = t / layout.k_group * layout.head_dim + slot;
  return decode_value(
      {plane(page, layout.k_scale_at)[at], plane(page, layout.k_zero_at)[at]},
      read_code(page + layout.k_codes_at + t * layout.k_row_bytes(), layout.k_bits, slot));
}

float decode_channel(const PageLayout& layout, const std::byte* page, std::size_t t,
                     std::size_t c) {
  const std::size_t slot = slot_of_entry(kPageTokens, t);
  const std::size_t at = c / layout.v_group * kPageTokens + slot;
  return decode_value(
      {plane(page, layout.v_scale_at)[at], plane(page, layout.v_zero_at)[at]},
      read_code(page + layout.v_codes_at + c * layout.v_row_bytes(), layout.v_bits, slot));
}

}  // namespace

AffineGroup encode_group(std::span<float> x, std::size_t bits, std::span<std::uint8_t> codes,
                         EncodeHealth& health) {
  SATCHEL_ASSERT(!x.empty() && codes.size() == x.size());
  for (float& value : x) value = mend(value, health);
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

Result<EncodeHealth> encode_page(const PageLayout& layout, const ExactRun& exact, std::byte* page) {
  SATCHEL_ASSERT(exact.n_tokens == kPageTokens);
  EncodeHealth health;
  std::memset(page, 0, layout.bytes);  // padding too: the same bytes for the same tokens
  std::memcpy(page + layout.positions_at, exact.positions, kPageTokens * sizeof(std::int32_t));
  if (layout.form == PageForm::exact16) {
    const std::size_t rows_bytes = kPageTokens * layout.head_dim * sizeof(Half);
    std::memcpy(page + layout.k_codes_at, exact.k, rows_bytes);
    std::memcpy(page + layout.v_codes_at, exact.v, rows_bytes);
    return health;
  }
  encode_keys(layout, exact.k, page, health);
  encode_values(layout, exact.v, page, health);
  return health;
}

Result<void> decode_page(const PageLayout& layout, const std::byte* page, float* k, float* v) {
  const std::size_t head_dim = layout.head_dim;
  for (std::size_t t = 0; t < kPageTokens; ++t) {
    for (std::size_t c = 0; c < head_dim; ++c) {
      const std::size_t i = t * head_dim + c;
      if (layout.form == PageForm::exact16) {
        k[i] = half_to_float(plane(page, layout.k_codes_at)[i]);
        v[i] = half_to_float(plane(page, layout.v_codes_at)[i]);
      } else {
        k[i] = decode_key(layout, page, t, c);
        v[i] = decode_channel(layout, page, t, c);
      }
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
