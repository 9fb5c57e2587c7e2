// Affine codes with an fp16 scale and minimum per group: K per channel over `group` tokens, V per
// token over `group` channels, as both vary along these axes least.
//   params  bits 2 or 4 (2); group 16, 32, 64 or 128 (32)
//   bytes   bits / 8 + 4 / group per value: 3 bits per value at 2 bits, group 32; 4.25 at 4 bits, group
//           128. V's group is the most channels that divide head_dim (head_group.h)
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves
//   source  arXiv:2402.02750 (KIVI)
//   differs K and V leave the exact tail by the same rule, a page at a time (the authors' K keeps no
//           exact token right behind a full block, their V leaves token by token); scale and minimum
//           are rounded outward before coding; a group without spread has scale 0
#include <algorithm>

#include "kvcache/codecs/head_group.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class KiviCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 2, {2, 4}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 32, {16, 32, 64, 128}));
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine,
            .bits = bits_,
            .group = operand == Operand::k ? group_ : head_group(head_dim, group_)};
  }
  std::size_t capacity_step() const override { return std::max(group_, kernels::kPageStep); }

 private:
  std::size_t bits_ = 2, group_ = 32;
};
}  // namespace

extern const StageEntry codecs_kivi{.kind = StageKind::codec,
                                    .name = "kivi",
                                    .source = "arXiv:2402.02750",
                                    .make = make_stage<KiviCodec>};
}  // namespace satchel::kvcache
