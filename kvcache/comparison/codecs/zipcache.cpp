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
#include <cmath>

#include "kvcache/codecs/plane_codec.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

float factor_of(float largest) {
  return largest > 0 ? std::sqrt(largest) : 1;
}

class ZipCacheCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {2, 4, 8}));
    v_ = std::make_shared<BalancedCode>("zipcache.v", factor_of);
    make_planes([this](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      to.add_affine(bits_, head_dim, capacity * head_dim, capacity);
      to.add({.kind = PlaneKind::channel_factors, .count = 1}, head_dim);
    });
    return {};
  }

 private:
  kernels::OperandShape without_code(std::size_t, std::size_t capacity) const override {
    return {.form = kernels::OperandShape::Form::affine, .bits = bits_, .group = capacity};
  }

  std::size_t bits_ = 4;
};
}  // namespace

extern const StageMaker codecs_zipcache = stage_of<ZipCacheCodec>("arXiv:2405.14256");
}  // namespace satchel::kvcache
