// K per channel over all tokens of the page; V per token, after each channel is divided by the root
// of its largest size, so that a loud channel does not widen the range of all others.
//   planes  K: affine, in groups of the page's capacity
//           V: codes            [capacity, head_dim] of `bits`, low bits first
//              scale, zero      fp16 [capacity]
//              channel_factors  fp16 [head_dim]: here a factor and no sum
//   formula v = (code · scale + zero) · factor, factor[c] = sqrt(largest |v[c]|), 1 for a channel
//           of zeros
//   params  bits  2, 4 or 8 (4)
//   bytes   per value of K bits / 8 + 4 / capacity; of V bits / 8 + 4 / head_dim + 2 / capacity:
//           4.25 and 4.375 bits at 4 bits, head_dim 128
//   bound   K |x - decoded| <= scale / 2, V scale / 2 · factor; and the rounding of the halves
//   source  arXiv:2405.14256 (ZipCache); which tokens get how many bits is the recipe's (a list of
//           codecs with `two_tiers`)
//   differs a page's tokens of one lane stand for the prompt's of all heads; scale and minimum are
//           rounded outward before coding; nothing is coded twice
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/plane_table.h"

namespace satchel::kvcache {
namespace {

using kernels::OperandLayout;
using kernels::Plane;
using kernels::PlaneKind;

class ZipValueCode final : public kernels::OperandCode {
 public:
  std::string_view name() const override { return "zipcache.v"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const AffinePlanes planes(layout);
    const Plane& factors = layout.at(PlaneKind::channel_factors);
    std::vector<float> largest(head_dim), y(x, x + n_tokens * head_dim);
    for (std::size_t i = 0; i < y.size(); ++i)
      largest[i % head_dim] = std::max(largest[i % head_dim], std::abs(y[i]));
    for (std::size_t c = 0; c < head_dim; ++c)
      put_half(page, factors, c, float_to_half(largest[c] > 0 ? std::sqrt(largest[c]) : 1));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] /= float_at(page, factors, i % head_dim);
    for (std::size_t t = 0; t < n_tokens; ++t)
      planes.encode(y.data(), {.first = t * head_dim, .n = head_dim}, t, page);
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const AffinePlanes planes(layout);
    for (std::size_t t = 0; t < n_tokens; ++t)
      planes.decode(page, {.first = t * head_dim, .n = head_dim}, t, x);
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] *= float_at(page, layout.at(PlaneKind::channel_factors), i % head_dim);
  }
};

class ZipCacheCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {2, 4, 8}));
    table_.make(
        [this](Operand, std::size_t head_dim, std::size_t capacity, PlaneTable::Planes& to) {
          to.add_affine(bits_, head_dim, capacity * head_dim, capacity);
          to.add({.kind = PlaneKind::channel_factors, .count = 1}, head_dim);
        });
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                std::size_t capacity) const override {
    using Form = kernels::OperandShape::Form;
    if (operand == Operand::k) return {.form = Form::affine, .bits = bits_, .group = capacity};
    return table_.coded(v_, operand, head_dim, capacity);
  }

 private:
  std::size_t bits_ = 4;
  ZipValueCode v_;
  PlaneTable table_;
};
}  // namespace

extern const StageMaker codecs_zipcache = stage_of<ZipCacheCodec>("arXiv:2405.14256");
}  // namespace satchel::kvcache
