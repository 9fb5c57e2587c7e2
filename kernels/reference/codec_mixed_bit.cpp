#include "kernels/reference/codec_mixed_bit.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/base/half.h"
#include "kernels/contract/mixed_bit.h"
#include "kernels/contract/plane_halves.h"

namespace satchel::kernels::reference {
namespace {

inline float nearest(float x) {
  return (x + kMixedBitRounding) - kMixedBitRounding;
}

// All channels of a page side by side.
using Channels = std::array<float, kHeadDimMax>;

struct Ranges {
  Channels scale = {}, zero = {}, inverse = {};
};

class MixedBitEncoder {
 public:
  MixedBitEncoder(const OperandLayout& operand, const float* x, std::size_t n_tokens,
                  std::size_t head_dim)
      : x_(x), n_(n_tokens), d_(head_dim) {
    for (std::size_t c = 0; c < d_; ++c)
      top_[c] = static_cast<float>((1u << operand.quad_bits[c / kQuad]) - 1);
    middles();
    best_missed_.fill(std::numeric_limits<float>::infinity());
    for (const float ratio : kMixedBitRatios) {
      const Ranges tried = ranges(ratio);
      keep_better(tried, missed(tried));
    }
  }

  const Ranges& found() const { return best_; }
  std::uint8_t code(std::size_t token, std::size_t c) const {
    return static_cast<std::uint8_t>(nearest(steps(x_[token * d_ + c], best_, c)));
  }

 private:
  // Clamped before it is rounded, because nearest() needs small numbers.
  float steps(float x, const Ranges& ranges, std::size_t c) const {
    return std::min(std::max((x - ranges.zero[c]) * ranges.inverse[c], 0.0f), top_[c]);
  }

  // A channel without bits is its mean.
  void middles() {
    Channels low, high, sum;
    for (Channels* all : {&low, &high, &sum}) std::copy_n(x_, d_, all->begin());
    for (std::size_t t = 1; t < n_; ++t)
      for (std::size_t c = 0; c < d_; ++c) {
        low[c] = std::min(low[c], x_[t * d_ + c]);
        high[c] = std::max(high[c], x_[t * d_ + c]);
        sum[c] += x_[t * d_ + c];
      }
    for (std::size_t c = 0; c < d_; ++c) {
      middle_[c] = top_[c] > 0 ? low[c] * 0.5f + high[c] * 0.5f : sum[c] / static_cast<float>(n_);
      half_[c] = high[c] * 0.5f - low[c] * 0.5f;
    }
  }

  // Rounded to fp16.
  Ranges ranges(float ratio) const {
    Ranges made;
    for (std::size_t c = 0; c < d_; ++c) {
      const float step = top_[c] > 0 ? 2 * ratio * half_[c] / top_[c] : 0;
      made.scale[c] = half_to_float(float_to_half(std::min(step, kMixedBitStepMax)));
      made.zero[c] = half_to_float(float_to_half(middle_[c] - made.scale[c] * top_[c] * 0.5f));
      made.inverse[c] = made.scale[c] > 0 ? 1 / made.scale[c] : 0;
    }
    return made;
  }

  Channels missed(const Ranges& tried) const {
    Channels sum = {};
    for (std::size_t t = 0; t < n_; ++t)
      for (std::size_t c = 0; c < d_; ++c) {
        const float x = x_[t * d_ + c];
        const float value = nearest(steps(x, tried, c)) * tried.scale[c] + tried.zero[c];
        sum[c] += (value - x) * (value - x);
      }
    return sum;
  }

  void keep_better(const Ranges& tried, const Channels& missed) {
    for (std::size_t c = 0; c < d_; ++c) {
      if (!(missed[c] < best_missed_[c])) continue;
      best_missed_[c] = missed[c];
      best_.scale[c] = tried.scale[c];
      best_.zero[c] = tried.zero[c];
      best_.inverse[c] = tried.inverse[c];
    }
  }

  const float* const x_;
  const std::size_t n_, d_;
  Channels top_ = {}, middle_ = {}, half_ = {}, best_missed_ = {};
  Ranges best_;
};

}  // namespace

void encode_mixed_bit(const PageLayout& layout, const OperandLayout& operand, const float* x,
                      std::size_t n_tokens, std::byte* page) {
  const std::size_t d = layout.head_dim;
  const MixedBitEncoder encoder(operand, x, n_tokens, d);
  Half* const scales = halves(page, operand.at(PlaneKind::scale));
  Half* const zeros = halves(page, operand.at(PlaneKind::zero));
  for (std::size_t c = 0; c < d; ++c) {
    scales[c] = float_to_half(encoder.found().scale[c]);
    zeros[c] = float_to_half(encoder.found().zero[c]);
  }
  std::array<std::uint8_t, kPageTokens * kHeadDimMax> codes;
  for (std::size_t i = 0; i < n_tokens * d; ++i) codes[i] = encoder.code(i / d, i % d);
  put_mixed_bit_codes(layout, operand, codes.data(), n_tokens, page);
}

void put_mixed_bit_codes(const PageLayout& layout, const OperandLayout& operand,
                         const std::uint8_t* codes, std::size_t n_tokens, std::byte* page) {
  const std::size_t d = layout.head_dim, capacity = layout.capacity;
  std::byte* const plane = page + operand.at(PlaneKind::mixed_bit_codes).at;
  for_each_part(operand, d, capacity,
                [&](std::size_t first, unsigned below, unsigned bits, std::size_t at) {
                  const unsigned mask = (1u << bits) - 1;
                  for (std::size_t c = 0; c < kQuad; ++c)
                    for (std::size_t t = 0; t < n_tokens; ++t) {
                      const PartPlace to = part_place(capacity, bits, t, c);
                      const unsigned field = (unsigned{codes[t * d + first + c]} >> below) & mask;
                      plane[at + to.byte] |= static_cast<std::byte>(field << to.shift);
                    }
                });
}

void decode_mixed_bit(const PageLayout& layout, const OperandLayout& operand, const std::byte* page,
                      std::size_t n_tokens, float* out) {
  const std::size_t d = layout.head_dim, capacity = layout.capacity;
  const std::byte* const codes = page + operand.at(PlaneKind::mixed_bit_codes).at;
  std::array<std::uint8_t, kPageTokens* kHeadDimMax> whole = {};  // [n_tokens, head_dim]
  for_each_part(operand, d, capacity,
                [&](std::size_t first, unsigned below, unsigned bits, std::size_t at) {
                  for (std::size_t i = 0; i < n_tokens * kQuad; ++i) {
                    const PartPlace from = part_place(capacity, bits, i / kQuad, i % kQuad);
                    const auto byte = std::to_integer<unsigned>(codes[at + from.byte]);
                    const unsigned field = (byte >> from.shift) & ((1u << bits) - 1);
                    std::uint8_t& code = whole[i / kQuad * d + first + i % kQuad];
                    code = static_cast<std::uint8_t>(code | field << below);
                  }
                });
  const Half* const scales = halves(page, operand.at(PlaneKind::scale));
  const Half* const zeros = halves(page, operand.at(PlaneKind::zero));
  for (std::size_t t = 0; t < n_tokens; ++t)
    for (std::size_t c = 0; c < d; ++c) {
      const float scaled = static_cast<float>(whole[t * d + c]) * half_to_float(scales[c]);
      out[t * d + c] = scaled + half_to_float(zeros[c]);
    }
}

}  // namespace satchel::kernels::reference
