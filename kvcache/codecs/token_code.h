// TokenCode: affine codes per token in groups of channels, a range each; for codecs whose keys are
// coded as values are (for values the backends know it by heart).
//   planes  codes        [capacity, head_dim] of 1 to 8 bits, low bits first
//           scale, zero  fp16 [capacity, head_dim / group]
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves
#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "kvcache/codecs/affine_grid.h"

namespace satchel::kvcache {

class TokenCode : public OperandCode {
 public:
  explicit TokenCode(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const AffinePlanes planes(layout);
    const std::size_t group = planes.codes.group;
    for (std::size_t i = 0; i < n_tokens * head_dim / group; ++i)
      planes.encode(x, {.first = i * group, .n = group}, i, page);
  }
  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const AffinePlanes planes(layout);
    const std::size_t group = planes.codes.group;
    for (std::size_t i = 0; i < n_tokens * head_dim / group; ++i)
      planes.decode(page, {.first = i * group, .n = group}, i, x);
  }

 private:
  std::string_view name_;
};

// The same of balanced channels: each is divided by a factor first, so that a loud channel does not
// widen the range of all others.
//   planes  channel_factors  fp16 [head_dim]: here a factor and no sum
class BalancedCode final : public TokenCode {
 public:
  // From a channel's largest size, which may be 0, to its factor.
  using FactorOf = float (*)(float largest);
  BalancedCode(std::string_view name, FactorOf factor_of)
      : TokenCode(name), factor_of_(factor_of) {}

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const Plane& factors = layout.at(PlaneKind::channel_factors);
    std::vector<float> largest(head_dim), y(x, x + n_tokens * head_dim);
    for (std::size_t i = 0; i < y.size(); ++i)
      largest[i % head_dim] = std::max(largest[i % head_dim], std::abs(y[i]));
    for (std::size_t c = 0; c < head_dim; ++c)
      put_half(page, factors, c, float_to_half(factor_of_(largest[c])));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] /= float_at(page, factors, i % head_dim);
    TokenCode::encode(layout, y.data(), n_tokens, head_dim, page);
  }
  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    TokenCode::decode(layout, page, n_tokens, head_dim, x);
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] *= float_at(page, layout.at(PlaneKind::channel_factors), i % head_dim);
  }

 private:
  FactorOf factor_of_;
};

}  // namespace satchel::kvcache
