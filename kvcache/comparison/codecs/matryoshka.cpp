// Keys by the first of their lane's own coordinates, in which queries ask mostly for those; of the
// others a page holds the mean. V stays exact: a recipe gives it another codec.
//   params  keep  part of the coordinates that is kept, in steps of four (0.5)
//           bits  4 or 8 of each (8)
//   bytes   per value of K keep · (bits / 8) + 4 / capacity: 4.25 bits; exact 16 of V
//   bound   none per value: in a kept coordinate the mean of squares over a page is at most
//           scale² / 4; what is left out is its channel's mean
//   needs   the model's KeyBases (`satchel calibrate`): a cache of a model without them is refused
//   source  arXiv:2410.14731 (MatryoshkaKV)
//   differs the authors' projections are orthogonal, of K and of V, and trained by distillation
//           with random ranks, which here nobody does: KeyBases are found from second moments of
//           queries and keys. All lanes keep as many, where the authors search for each lane's
//           rank. Kept coordinates are codes, not fp16, with a scale and a zero per channel of a
//           page; the others are their mean, not 0
#include <algorithm>
#include <cmath>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class MatryoshkaCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(keep_, params.number("keep", {.fallback = 0.5, .min = 0.05, .max = 1}));
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 8, {4, 8}));
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim, std::size_t) const override {
    if (operand == Operand::v) return {};
    kernels::OperandShape shape{.form = kernels::OperandShape::Form::mixed_bit,
                                .bits = 0,  // in no other coordinates
                                .transform = kernels::Transform::basis};
    const std::size_t n_quads = head_dim / kernels::kQuad;
    const auto n_kept =
        static_cast<std::size_t>(std::llround(keep_ * static_cast<double>(n_quads)));
    std::fill_n(shape.quad_bits.begin(), std::max<std::size_t>(1, n_kept),
                static_cast<std::uint8_t>(bits_));
    return shape;
  }
  bool is_calibrated() const override { return true; }

 private:
  double keep_ = 0.5;
  std::size_t bits_ = 8;
};
}  // namespace

extern const StageMaker codecs_matryoshka = stage_of<MatryoshkaCodec>("arXiv:2410.14731");
}  // namespace satchel::kvcache
