// Pages, value by value: the quantiser U(b) of ../shared/methods/codecs.md 0.1 on the layout of page_layout.h.
#include <cmath>
#include <cstring>

#include "kernels/contract/row_order.h"
#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::reference {
namespace {

constexpr float kClamp =
    60000;  // not 65504: z + (2^b - 1) s may exceed the maximum by a rounding of s

float mended(float x, EncodeHealth& health) {
  if (std::isnan(x)) {
    ++health.n_nan;
    return 0;
  }
  if (std::isinf(x)) ++health.n_infinite;
  return std::fmin(std::fmax(x, -kClamp), kClamp);
}

struct Group {
  Half scale = 0, zero = 0;
};

// Range of a group; the codes follow from the stored halves, so that |x - decoded| <= scale / 2.
Group range_of(float low, float high, std::size_t bits) {
  Group group;
  group.zero = float_to_half_down(low);
  const float span = high - half_to_float(group.zero);
  group.scale = float_to_half_up(span / static_cast<float>((1u << bits) - 1));
  return group;
}

std::uint32_t code_of(float x, const Group& group, std::size_t bits) {
  const float scale = half_to_float(group.scale);
  if (!(scale > 0)) return 0;
  const float code = std::nearbyint((x - half_to_float(group.zero)) / scale);
  return static_cast<std::uint32_t>(
      std::fmin(std::fmax(code, 0.0f), static_cast<float>((1u << bits) - 1)));
}

void put_code(std::byte* row, const CodePlace& place, std::uint32_t code) {
  std::uint32_t word;
  std::memcpy(&word, row + place.word * sizeof word, sizeof word);
  word |= code << place.shift;
  std::memcpy(row + place.word * sizeof word, &word, sizeof word);
}

std::uint32_t get_code(const std::byte* row, const CodePlace& place, std::size_t bits) {
  std::uint32_t word;
  std::memcpy(&word, row + place.word * sizeof word, sizeof word);
  return word >> place.shift & ((1u << bits) - 1);
}

Half* halves(std::byte* page, std::size_t at) {
  return reinterpret_cast<Half*>(page + at);
}
const Half* halves(const std::byte* page, std::size_t at) {
  return reinterpret_cast<const Half*>(page + at);
}

// One channel over k_group tokens.
void encode_k_group(const PageLayout& layout, const Half* k, std::size_t group, std::size_t channel,
                    std::byte* page, EncodeHealth& health) {
  const std::size_t d = layout.head_dim, first = group * layout.k_group;
  float x[kPageTokens];
  float low = INFINITY, high = -INFINITY;
  for (std::size_t i = 0; i < layout.k_group; ++i) {
    x[i] = mended(half_to_float(k[(first + i) * d + channel]), health);
    low = std::fmin(low, x[i]);
    high = std::fmax(high, x[i]);
  }
  const Group range = range_of(low, high, layout.k_bits);
  const std::size_t slot = group * d + plane_slot(d, channel);
  halves(page, layout.k_scale_at)[slot] = range.scale;
  halves(page, layout.k_zero_at)[slot] = range.zero;
  const CodePlace place = code_place(layout.k_bits, d, channel);
  for (std::size_t i = 0; i < layout.k_group; ++i)
    put_code(page + layout.k_codes_at + (first + i) * layout.k_row_bytes(), place,
             code_of(x[i], range, layout.k_bits));
}

// One token over v_group channels.
void encode_v_group(const PageLayout& layout, const Half* v, std::size_t group, std::size_t token,
                    std::byte* page, EncodeHealth& health) {
  const std::size_t d = layout.head_dim, first = group * layout.v_group;
  float x[256];
  float low = INFINITY, high = -INFINITY;
  for (std::size_t i = 0; i < layout.v_group; ++i) {
    x[i] = mended(half_to_float(v[token * d + first + i]), health);
    low = std::fmin(low, x[i]);
    high = std::fmax(high, x[i]);
  }
  const Group range = range_of(low, high, layout.v_bits);
  const std::size_t slot = group * kPageTokens + plane_slot(kPageTokens, token);
  halves(page, layout.v_scale_at)[slot] = range.scale;
  halves(page, layout.v_zero_at)[slot] = range.zero;
  const CodePlace place = code_place(layout.v_bits, kPageTokens, token);
  for (std::size_t i = 0; i < layout.v_group; ++i)
    put_code(page + layout.v_codes_at + (first + i) * layout.v_row_bytes(), place,
             code_of(x[i], range, layout.v_bits));
}

void decode_affine(const PageLayout& layout, const std::byte* page, float* k, float* v) {
  const std::size_t d = layout.head_dim;
  for (std::size_t t = 0; t < kPageTokens; ++t)
    for (std::size_t c = 0; c < d; ++c) {
      const std::size_t k_slot = t / layout.k_group * d + plane_slot(d, c);
      const std::size_t v_slot = c / layout.v_group * kPageTokens + plane_slot(kPageTokens, t);
      const std::uint32_t k_code = get_code(page + layout.k_codes_at + t * layout.k_row_bytes(),
                                            code_place(layout.k_bits, d, c), layout.k_bits);
      const std::uint32_t v_code =
          get_code(page + layout.v_codes_at + c * layout.v_row_bytes(),
                   code_place(layout.v_bits, kPageTokens, t), layout.v_bits);
      k[t * d + c] =
          static_cast<float>(k_code) * half_to_float(halves(page, layout.k_scale_at)[k_slot]) +
          half_to_float(halves(page, layout.k_zero_at)[k_slot]);
      v[t * d + c] =
          static_cast<float>(v_code) * half_to_float(halves(page, layout.v_scale_at)[v_slot]) +
          half_to_float(halves(page, layout.v_zero_at)[v_slot]);
    }
}

}  // namespace

Result<EncodeHealth> encode_page(const PageLayout& layout, const ExactRun& exact, std::byte* page) {
  SATCHEL_ASSERT(exact.n_tokens == kPageTokens);
  EncodeHealth health;
  std::memset(page, 0, layout.bytes);
  std::memcpy(page + layout.positions_at, exact.positions, kPageTokens * sizeof(std::int32_t));
  if (layout.form == PageForm::exact16) {
    const std::size_t plane = kPageTokens * layout.head_dim * sizeof(Half);
    std::memcpy(page + layout.k_codes_at, exact.k, plane);
    std::memcpy(page + layout.v_codes_at, exact.v, plane);
    return health;
  }
  for (std::size_t group = 0; group < kPageTokens / layout.k_group; ++group)
    for (std::size_t c = 0; c < layout.head_dim; ++c)
      encode_k_group(layout, exact.k, group, c, page, health);
  for (std::size_t group = 0; group < std::size_t{layout.head_dim} / layout.v_group; ++group)
    for (std::size_t t = 0; t < kPageTokens; ++t)
      encode_v_group(layout, exact.v, group, t, page, health);
  return health;
}

Result<void> decode_page(const PageLayout& layout, const std::byte* page, float* k, float* v) {
  if (layout.form == PageForm::affine) {
    decode_affine(layout, page, k, v);
    return {};
  }
  for (std::size_t i = 0; i < kPageTokens * layout.head_dim; ++i) {
    k[i] = half_to_float(halves(page, layout.k_codes_at)[i]);
    v[i] = half_to_float(halves(page, layout.v_codes_at)[i]);
  }
  return {};
}

}  // namespace satchel::kernels::reference
