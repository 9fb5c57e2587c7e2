// Transformed by Hadamard, affine per token in groups of channels; of K the channels are sorted
// first, so that each group holds channels that are alike loud.
//   planes  codes          [capacity, head_dim] of `bits`, low bits first, across bytes; of K in
//                          the order of channels below
//           scale, zero    fp16 [capacity, head_dim / group]
//           kept_channels  bytes [head_dim], K of more than one group: which channel lies where,
//                          loudest first
//   formula x = code · scale + zero, transformed back
//   params  bits   2, 3 or 4 (4)
//           group  16, 32, 64 or 128 (64); or the most that divide head_dim (head_group.h)
//   bytes   per value bits / 8 + 4 / group, and 1 / capacity for K's order: at 4 bits, head_dim
//           128, group 64 4.5625 bits of K, 4.5 of V
//   bound   per transformed value scale / 2, and the rounding of two halves
//   source  arXiv:2501.16383 (RotateKV)
//   differs after RoPE and head by head, where the authors transform four heads' keys together
//           before RoPE and by weights; the order is the page's own, by the mean of squares, not
//           calibrated; the minimum is an fp16 number; which tokens stay exact is the recipe's. V
//           of 2 or 4 bits is of the affine family, so that fused attention reads it
#include <vector>

#include "kvcache/codecs/channel_order.h"
#include "kvcache/codecs/head_group.h"
#include "kvcache/codecs/plane_codec.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

class RotateCode final : public TokenCode {
 public:
  RotateCode() : TokenCode("rotatekv") {}

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const std::vector<float> sorted = sort_channels(layout, x, n_tokens, head_dim, page);
    TokenCode::encode(layout, sorted.data(), n_tokens, head_dim, page);
  }
  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    TokenCode::decode(layout, page, n_tokens, head_dim, x);
    unsort_channels(layout, page, n_tokens, head_dim, x);
  }
};

class RotateCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {2, 3, 4}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 64, {16, 32, 64, 128}));
    k_ = std::make_shared<RotateCode>();
    if (bits_ == 3) v_ = k_;
    transform_ = kernels::Transform::hadamard;
    make_planes([this](Operand operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t n_values = capacity * head_dim, group = head_group(head_dim, group_);
      to.add_affine(bits_, group, n_values, n_values / group);
      if (operand == Operand::k && group < head_dim)
        to.add({.kind = PlaneKind::kept_channels, .bits = 8}, head_dim);
    });
    return {};
  }

 private:
  kernels::OperandShape without_code(std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine,
            .bits = bits_,
            .group = head_group(head_dim, group_),
            .transform = kernels::Transform::hadamard};
  }

  std::size_t bits_ = 4, group_ = 64;
};
}  // namespace

extern const StageMaker codecs_rotatekv = stage_of<RotateCodec>("arXiv:2501.16383");
}  // namespace satchel::kvcache
