#include "kvcache/snapshot/thin_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/contract/mixed_bit.h"
#include "kernels/contract/row_order.h"

namespace satchel::kvcache {
namespace {

using kernels::OperandLayout;
using kernels::PageLayout;
using kernels::Plane;
using kernels::PlaneKind;

constexpr std::size_t kValueBits = 4;
// The thinned codes of a value: -1.5, -.5, .5 and 1.5 times the scale.
constexpr unsigned kValueCodeLeast = 6, kValueCodeMost = 9;
constexpr unsigned kScaleMantissa = 3;
constexpr unsigned kHalfMantissa = 10;
constexpr Half kHalfExponent = 0x7c00;
// Beyond so many steps from zero not every multiple is exact: 3 n < 2,048, for steps of .75, less
// what codes lie below the mean.
constexpr float kStepsMost = 512;

bool thins_keys(const OperandLayout& k) {
  return k.is_mixed_bit() && k.transform == kernels::Transform::basis;
}
bool thins_values(const OperandLayout& v) {
  return v.n_planes > 0 && v.is_affine() && v.planes[0].bits == kValueBits &&
         v.find(PlaneKind::zero) == nullptr;
}

// A plane of the page, if it has just the bytes that the layout's shape asks for.
std::span<std::byte> bytes_of(const OperandLayout& operand, PlaneKind kind, std::size_t n_bytes,
                              std::span<std::byte> page) {
  const Plane* const plane = operand.find(kind);
  if (plane == nullptr || plane->at > page.size() || n_bytes > plane->bytes ||
      plane->bytes > page.size() - plane->at)
    return {};
  return page.subspan(plane->at, n_bytes);
}

Half half_at(std::span<const std::byte> halves, std::size_t i) {
  Half half = 0;
  std::memcpy(&half, halves.data() + i * sizeof half, sizeof half);
  return half;
}
void put_half(std::span<std::byte> halves, std::size_t i, Half half) {
  std::memcpy(halves.data() + i * sizeof half, &half, sizeof half);
}

// To nearest, so many bits of mantissa; what is or would become infinite stays.
Half rounded(Half half, unsigned mantissa) {
  const unsigned drop = kHalfMantissa - mantissa;
  const auto near = static_cast<Half>((half + (1u << (drop - 1))) >> drop << drop);
  const bool is_finite = (half & kHalfExponent) != kHalfExponent;
  return is_finite && (near & kHalfExponent) != kHalfExponent ? near : half;
}

// The codes of a page's mixed-bit keys, a byte each: [head_dim, kPageTokens].
class KeyCodes {
 public:
  KeyCodes(const PageLayout& layout, std::size_t n_tokens, std::span<std::byte> plane)
      : layout_(layout), n_(n_tokens), plane_(plane) {
    each_part([](std::byte& byte, unsigned mask, unsigned shift, unsigned below,
                 std::uint8_t& code) {
      code = static_cast<std::uint8_t>(code | ((std::to_integer<unsigned>(byte) >> shift) & mask)
                                                  << below);
    });
  }
  void write() {
    each_part(
        [](std::byte& byte, unsigned mask, unsigned shift, unsigned below, std::uint8_t& code) {
          byte &= ~static_cast<std::byte>(mask << shift);
          byte |= static_cast<std::byte>(((unsigned{code} >> below) & mask) << shift);
        });
  }
  std::span<std::uint8_t> of(std::size_t channel) {
    return std::span(codes_).subspan(channel * kernels::kPageTokens, n_);
  }

 private:
  template <class Body>
  void each_part(const Body& body) {
    kernels::for_each_part(layout_.k, layout_.head_dim, layout_.capacity,
                           [&](std::size_t first, unsigned below, unsigned bits, std::size_t at) {
                             for (std::size_t c = 0; c < kernels::kQuad; ++c)
                               for (std::size_t t = 0; t < n_; ++t) {
                                 const kernels::PartPlace place =
                                     kernels::part_place(layout_.capacity, bits, t, c);
                                 body(plane_[at + place.byte], (1u << bits) - 1, place.shift, below,
                                      codes_[(first + c) * kernels::kPageTokens + t]);
                               }
                           });
  }

  const PageLayout& layout_;
  const std::size_t n_;
  std::span<std::byte> plane_;
  std::array<std::uint8_t, kernels::kHeadDimMax* kernels::kPageTokens> codes_ = {};
};

// value = scale · code + zero, before and after.
struct Grid {
  Half scale = 0, zero = 0;
};

// A channel's codes on the grid of kThinKeyStep. The range of its codes becomes no longer, as the
// step becomes no shorter, so it fits: in the middle if it can.
Grid thin_channel(const Grid& grid, unsigned bits, std::span<std::uint8_t> codes) {
  const float scale = half_to_float(grid.scale), zero = half_to_float(grid.zero);
  const auto steps = [&](unsigned code) {
    return std::nearbyint((scale * static_cast<float>(code) + zero) / kThinKeyStep);
  };
  const auto top = static_cast<int>((1u << bits) - 1);
  if (!(scale > 0 && scale < kThinKeyStep) || !(std::abs(steps(0)) < kStepsMost) ||
      !(std::abs(steps(static_cast<unsigned>(top))) < kStepsMost))
    return grid;
  float sum = 0, low = kStepsMost, high = -kStepsMost;
  for (const std::uint8_t code : codes) {
    const float at = steps(code);
    sum += at;
    low = std::min(low, at);
    high = std::max(high, at);
  }
  const auto mean = static_cast<int>(std::nearbyint(sum / static_cast<float>(codes.size())));
  int first = mean - (top + 1) / 2;  // what code 0 stands for, in steps
  first = std::max(first, static_cast<int>(high) - top);
  first = std::min(first, static_cast<int>(low));
  for (std::uint8_t& code : codes)
    code = static_cast<std::uint8_t>(std::min(static_cast<int>(steps(code)) - first, top));
  return {float_to_half(kThinKeyStep), float_to_half(static_cast<float>(first) * kThinKeyStep)};
}

void thin_keys(const PageLayout& layout, std::size_t n_tokens, std::span<std::byte> page) {
  const std::size_t d = layout.head_dim;
  std::size_t n_codes = 0;
  kernels::for_each_part(layout.k, d, layout.capacity,
                         [&](std::size_t, unsigned, unsigned bits, std::size_t at) {
                           n_codes = at + kernels::part_bytes(layout.capacity, bits);
                         });
  const auto plane = bytes_of(layout.k, PlaneKind::mixed_bit_codes, n_codes, page);
  const auto scales = bytes_of(layout.k, PlaneKind::scale, d * sizeof(Half), page);
  const auto zeros = bytes_of(layout.k, PlaneKind::zero, d * sizeof(Half), page);
  if (plane.empty() || scales.empty() || zeros.empty()) return;
  KeyCodes codes(layout, n_tokens, plane);
  for (std::size_t c = 0; c < d; ++c) {
    const unsigned bits = layout.k.quad_bits[c / kernels::kQuad];
    if (bits == 0) continue;
    const Grid grid = thin_channel({half_at(scales, c), half_at(zeros, c)}, bits, codes.of(c));
    put_half(scales, c, grid.scale);
    put_half(zeros, c, grid.zero);
  }
  codes.write();
}

// Which of the four levels, between -2 and 1, from below.
unsigned thin_value(unsigned code, float scale, float wide) {
  constexpr float kMiddle = ((1u << kValueBits) - 1) * 0.5f;
  const float level = std::floor((static_cast<float>(code) - kMiddle) * scale / wide);
  return kValueCodeLeast + static_cast<unsigned>(std::clamp(level, -2.0f, 1.0f) + 2);
}

// Four times as wide, rounded; 0: the token has nothing but zeros, or is of an impossible size, and
// stays as it is.
float wide_scale(float scale) {
  const Half four_times = float_to_half(scale * 4);
  if (!(scale > 0) || (four_times & kHalfExponent) == kHalfExponent) return 0;
  return half_to_float(rounded(four_times, kScaleMantissa));
}

// Rows of codes are channels, and a token's scale stands at its slot.
void thin_values(const PageLayout& layout, std::size_t n_tokens, std::span<std::byte> page) {
  const std::size_t capacity = layout.capacity, row = kernels::row_bytes(kValueBits, capacity);
  const auto codes = bytes_of(layout.v, PlaneKind::codes, row * layout.head_dim, page);
  // A group of channels each has scales; the codec of the ladder has one.
  const auto scales = bytes_of(layout.v, PlaneKind::scale, capacity * sizeof(Half), page);
  if (codes.empty() || scales.empty() || layout.v.planes[0].group != layout.head_dim) return;
  std::vector<std::uint8_t> all(layout.head_dim * n_tokens);
  std::array<float, kernels::kPageTokens> narrow = {}, wide = {};
  bool is_thin = true;
  for (std::size_t t = 0; t < n_tokens; ++t) {
    const std::size_t slot = kernels::slot_of_entry(capacity, t);
    narrow[t] = half_to_float(half_at(scales, slot));
    wide[t] = wide_scale(narrow[t]);
    for (std::size_t c = 0; c < layout.head_dim; ++c) {
      const unsigned code = kernels::read_code(codes.data() + c * row, kValueBits, slot);
      all[c * n_tokens + t] = static_cast<std::uint8_t>(code);
      const bool is_middle = code >= kValueCodeLeast && code <= kValueCodeMost;
      is_thin = is_thin && (is_middle || wide[t] == 0);
    }
  }
  if (is_thin) return;
  for (std::size_t t = 0; t < n_tokens; ++t)
    if (wide[t] > 0) put_half(scales, kernels::slot_of_entry(capacity, t), float_to_half(wide[t]));
  std::ranges::fill(codes, std::byte{0});
  for (std::size_t c = 0; c < layout.head_dim; ++c)
    for (std::size_t t = 0; t < n_tokens; ++t) {
      const unsigned code = all[c * n_tokens + t];
      kernels::put_code(codes.data() + c * row, kValueBits, kernels::slot_of_entry(capacity, t),
                        wide[t] > 0 ? thin_value(code, narrow[t], wide[t]) : code);
    }
}

}  // namespace

bool can_thin(const PageLayout& layout) {
  return thins_keys(layout.k) || thins_values(layout.v);
}

void thin_page(const PageLayout& layout, std::size_t n_tokens, std::span<std::byte> page) {
  n_tokens = std::min<std::size_t>(n_tokens, layout.capacity);
  if (n_tokens == 0) return;
  if (thins_keys(layout.k)) thin_keys(layout, n_tokens, page);
  if (thins_values(layout.v)) thin_values(layout, n_tokens, page);
}

void thin_exact(std::span<std::byte> halves) {
  for (std::size_t i = 0; i < halves.size() / sizeof(Half); ++i)
    put_half(halves, i, rounded(half_at(halves, i), kThinMantissa));
}

}  // namespace satchel::kvcache
