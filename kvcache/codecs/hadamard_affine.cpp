// Affine codes of values under a Hadamard transform: a loud channel is spread over all, so that few
// bits reach farther. K per channel over `group` tokens, V per token over `group` channels.
//   params  bits 2, 3, 4 or 8 (4); group 16, 32, 64, 128 or 0 (32), 0: the whole axis; symmetric
//           (false): a scale and no minimum; clip (false): the range of every group is searched for
//           the least squared error (kernels/contract/clipping.h)
//   bytes   bits / 8 + 4 / group per value, symmetric bits / 8 + 2 / group: 5 bits per value at 4
//           bits, group 32. V's group is the largest common divisor of `group` and head_dim (80:
//           16); of group 0 it is head_dim, and K's the page. K of 3 bits: head_dim up to the next
//           multiple of 32 for the lowest bit
//   bound   per transformed value scale / 2; the transform keeps lengths, so a token's error is at
//           most sqrt(head_dim) · (its largest scale) / 2, and the rounding of two halves. None
//           with clip: what lies outside of a range errs by as much; the sum of squares is the
//           least of seven
//   source  arXiv:2404.00456 (QuaRot); arXiv:2402.02750 (KIVI) for the axes; arXiv:2306.00978 (AWQ)
//           for searching what to clip
//   differs transformed after RoPE when a page is made, not folded into the weights; blocks of the
//           largest power of two that divides head_dim
#include <algorithm>
#include <numeric>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class HadamardAffineCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {2, 3, 4, 8}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 32, {0, 16, 32, 64, 128}));
    SATCHEL_TRY_ASSIGN(symmetric_, params.flag("symmetric", false));
    SATCHEL_TRY_ASSIGN(clip_, params.flag("clip", false));
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                std::size_t capacity) const override {
    const std::size_t axis = operand == Operand::k ? capacity : head_dim;
    return {.form = kernels::OperandShape::Form::affine,
            .bits = bits_,
            .group = group_ == 0             ? axis
                     : operand == Operand::k ? group_
                                             : std::gcd(group_, axis),
            .symmetric = symmetric_,
            .clips = clip_,
            .transform = kernels::Transform::hadamard};
  }
  std::size_t capacity_step() const override { return std::max(group_, kernels::kPageStep); }

 private:
  std::size_t bits_ = 4, group_ = 32;
  bool symmetric_ = false, clip_ = false;
};
}  // namespace

extern const StageMaker codecs_hadamard_affine = stage_of<HadamardAffineCodec>("arXiv:2404.00456");
}  // namespace satchel::kvcache
