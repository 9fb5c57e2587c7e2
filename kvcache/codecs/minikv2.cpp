// Affine codes with an fp16 scale and minimum per group: K per channel over `group` kept tokens, V
// per token over `group` channels.
//   params  bits 2, 4 or 8 (2); group 16, 32, 64 or 128 (16); clip (false): the range of every
//           group is searched for the least squared error (kernels/contract/clipping.h)
//   bytes   bits / 8 + 4 / group per value: 4 bits per value at 2 bits, group 16. V's group is the
//           largest common divisor of `group` and head_dim (96 and 64: 32)
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves; with clip only within the
//           range
//   source  arXiv:2411.18077 (MiniKV)
//   differs scale and minimum are rounded outward before coding; groups of 32 and 64 are offered
#include <algorithm>
#include <numeric>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class MiniKv2Codec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 2, {2, 4, 8}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 16, {16, 32, 64, 128}));
    SATCHEL_TRY_ASSIGN(clip_, params.flag("clip", false));
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine,
            .bits = bits_,
            .group = operand == Operand::k ? group_ : std::gcd(group_, head_dim),
            .clips = clip_};
  }
  std::size_t capacity_step() const override { return std::max(group_, kernels::kPageStep); }

 private:
  std::size_t bits_ = 2, group_ = 16;
  bool clip_ = false;
};
}  // namespace

extern const StageMaker codecs_minikv2 = stage_of<MiniKv2Codec>("arXiv:2411.18077");
}  // namespace satchel::kvcache
