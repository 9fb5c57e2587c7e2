// Affine codes per token, of K after its channels have been balanced, so that a loud channel does
// not widen the range of all others.
//   planes  codes            [capacity, head_dim] of `bits`, low bits first
//           scale, zero      fp16 [capacity, head_dim / group]
//           channel_factors  fp16 [head_dim], K: here a factor and no sum
//   formula k = (code · scale + zero) · factor, where factor[c] is the power of two nearest to
//           sqrt(largest |k[c]|), from 1 / 256 to 256, 1 for a channel of zeros: k / factor is
//           exact; v = code · scale + zero
//   params  bits   2, 3, 4 or 8 (2)
//           group  16, 32, 64 or 128 (128); or the most that divide head_dim (head_group.h)
//   bytes   per value bits / 8 + 4 / group, and 2 / capacity of K: 2.375 and 2.25 bits at 2 bits,
//           head_dim 128
//   bound   K scale / 2 · factor, V scale / 2; and the rounding of two halves
//   source  arXiv:2402.18096 (MiKV, No Token Left Behind); which tokens get how many bits is the
//           recipe's (a list of codecs with `two_tiers`)
//   differs the authors balance by sqrt(largest |q| / largest |k|) of a prompt, once for a lane; a
//           page knows no query when it is made, so that all of them count as equally large, and
//           has factors of its own. V is of the affine family, so that fused attention reads it
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/head_group.h"
#include "kvcache/codecs/plane_codec.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

constexpr int kFactorExponentMost = 8;  // of a factor: fp16 holds it and what it divides

// So that largest / factor and its inverse are about as large.
float factor_of(float largest) {
  if (!(largest > 0)) return 1;
  const auto exponent = static_cast<int>(std::nearbyint(std::log2(double{largest}) / 2));
  return std::ldexp(1.0f, std::clamp(exponent, -kFactorExponentMost, kFactorExponentMost));
}

class MiKvCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 2, {2, 3, 4, 8}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 128, {16, 32, 64, 128}));
    k_ = std::make_shared<BalancedCode>("mikv.k", factor_of);
    make_planes([this](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t n_values = capacity * head_dim, group = head_group(head_dim, group_);
      to.add_affine(bits_, group, n_values, n_values / group);
      to.add({.kind = PlaneKind::channel_factors, .count = 1}, head_dim);
    });
    return {};
  }

 private:
  kernels::OperandShape without_code(std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine,
            .bits = bits_,
            .group = head_group(head_dim, group_)};
  }

  std::size_t bits_ = 2, group_ = 128;
};
}  // namespace

extern const StageMaker codecs_mikv = stage_of<MiKvCodec>("arXiv:2402.18096");
}  // namespace satchel::kvcache
