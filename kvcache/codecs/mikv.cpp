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
#include "kvcache/codecs/plane_table.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

using kernels::OperandLayout;
using kernels::Plane;
using kernels::PlaneKind;

constexpr int kExponentMost = 8;  // of a factor: fp16 holds it and what it divides

float factor_of(float largest) {
  if (!(largest > 0)) return 1;
  const auto exponent = static_cast<int>(std::nearbyint(std::log2(double{largest}) / 2));
  return std::ldexp(1.0f, std::clamp(exponent, -kExponentMost, kExponentMost));
}

class BalancedCode final : public kernels::OperandCode {
 public:
  std::string_view name() const override { return "mikv.k"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const Plane& factors = layout.at(PlaneKind::channel_factors);
    std::vector<float> largest(head_dim), y(x, x + n_tokens * head_dim);
    for (std::size_t i = 0; i < y.size(); ++i)
      largest[i % head_dim] = std::max(largest[i % head_dim], std::abs(y[i]));
    for (std::size_t c = 0; c < head_dim; ++c)
      put_half(page, factors, c, float_to_half(factor_of(largest[c])));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] /= float_at(page, factors, i % head_dim);
    rows_.encode(layout, y.data(), n_tokens, head_dim, page);
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    rows_.decode(layout, page, n_tokens, head_dim, x);
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] *= float_at(page, layout.at(PlaneKind::channel_factors), i % head_dim);
  }

 private:
  TokenCode rows_{"mikv.k"};
};

class MiKvCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 2, {2, 3, 4, 8}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 128, {16, 32, 64, 128}));
    table_.make(
        [this](Operand, std::size_t head_dim, std::size_t capacity, PlaneTable::Planes& to) {
          const std::size_t n_values = capacity * head_dim, group = head_group(head_dim, group_);
          to.add_affine(bits_, group, n_values, n_values / group);
          to.add({.kind = PlaneKind::channel_factors, .count = 1}, head_dim);
        });
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                std::size_t capacity) const override {
    using Form = kernels::OperandShape::Form;
    if (operand == Operand::k) return table_.coded(k_, operand, head_dim, capacity);
    return {.form = Form::affine, .bits = bits_, .group = head_group(head_dim, group_)};
  }

 private:
  std::size_t bits_ = 2, group_ = 128;
  BalancedCode k_;
  PlaneTable table_;
};
}  // namespace

extern const StageMaker codecs_mikv = stage_of<MiKvCodec>("arXiv:2402.18096");
}  // namespace satchel::kvcache
