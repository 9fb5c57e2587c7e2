// TokenCode: affine codes per token in groups of channels, a range each; for codecs whose keys are
// coded as values are (for values the backends know it by heart).
//   planes  codes        [capacity, head_dim] of 1 to 8 bits, low bits first
//           scale, zero  fp16 [capacity, head_dim / group]
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves
#pragma once

#include <string_view>

#include "kvcache/codecs/affine_grid.h"

namespace satchel::kvcache {

class TokenCode : public kernels::OperandCode {
 public:
  explicit TokenCode(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }

  void encode(const kernels::OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const AffinePlanes planes(layout);
    const std::size_t group = planes.codes.group;
    for (std::size_t i = 0; i < n_tokens * head_dim / group; ++i)
      planes.encode(x, {.first = i * group, .n = group}, i, page);
  }
  void decode(const kernels::OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const AffinePlanes planes(layout);
    const std::size_t group = planes.codes.group;
    for (std::size_t i = 0; i < n_tokens * head_dim / group; ++i)
      planes.decode(page, {.first = i * group, .n = group}, i, x);
  }

 private:
  std::string_view name_;
};

}  // namespace satchel::kvcache
