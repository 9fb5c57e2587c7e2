// Keys by transform coding, values by a Hadamard matrix: the product's own ladder of 8, 4, 3 and 2
// bits. A key is taken into coordinates of its lane's own, in which queries ask mostly for
// the first ones (KeyBases), as it would stand in its page's frame (kernels::Basis), and bits are
// given by coordinate: at 2 bits on average 4 to the first eighth, 3 to the next two, then 2, 1 and
// none. Per channel of a page a scale and a zero; the range of each is searched for the least sum
// of squares. Values have equal bits, a scale per token, codes around zero.
//   params  bits   2, 3, 4 or 8 on average (4)
//   bytes   K bits / 8 + 4 / capacity per value, V bits / 8 + 2 / head_dim: 4.25 bits both, at 4
//           bits and head_dim 64. Where 32 does not divide head_dim, K may have more on average:
//           .10 bit at 80, .17 at 48, .5 at 16 (2 bits asked for)
//   bound   none per value: ranges may leave rare values outside; the mean of squares over a
//           channel is at most that of the range from least to largest, scale² / 4, and the
//           rounding of two halves
//   needs   the model's KeyBases; without them, and at 8 bits, keys are transformed by a Hadamard
//           matrix and have equal bits
//   source  ours, after Huang and Schultheiss 1963 (bits by the variance of a transform's
//           coefficients); arXiv:2402.02750 (KIVI) for the axes, arXiv:2404.00456 (QuaRot) for V
//   differs arXiv:2511.01815 (KVTC) codes principal components of K and V for storage, with entropy
//           coding; here error is weighed by queries, and attention reads the codes as they lie
#include <array>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

// Bits by eighth of the channels. Of what was tried on SmolLM2-135M's keys by KL divergence
// (docs/codecs.md).
struct Grades {
  std::size_t bits;
  std::array<std::uint8_t, 8> of_eighth;
};
constexpr Grades kGrades[] = {{2, {4, 3, 3, 2, 2, 1, 1, 0}},
                              {3, {5, 4, 3, 3, 3, 2, 2, 2}},
                              {4, {6, 5, 4, 4, 4, 3, 3, 3}},
                              {8, {8, 8, 8, 8, 8, 8, 8, 8}}};

class KltCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {2, 3, 4, 8}));
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim, std::size_t) const override {
    return operand == Operand::k ? keys(head_dim) : values(head_dim);
  }
  bool is_calibrated() const override { return true; }

 private:
  kernels::OperandShape keys(std::size_t head_dim) const {
    // Eight bits for all have nothing to gain by coordinates, and frames cost a rotation of the
    // queries.
    const auto transform = bits_ == 8 ? kernels::Transform::hadamard : kernels::Transform::basis;
    kernels::OperandShape shape{
        .form = kernels::OperandShape::Form::mixed_bit, .bits = bits_, .transform = transform};
    const std::size_t n_quads = head_dim / kernels::kQuad;
    for (const Grades& grades : kGrades)
      for (std::size_t i = 0; grades.bits == bits_ && i < n_quads; ++i)
        shape.quad_bits[i] = grades.of_eighth[i * grades.of_eighth.size() / n_quads];
    return shape;
  }
  kernels::OperandShape values(std::size_t head_dim) const {
    return {.form = kernels::OperandShape::Form::affine,
            .bits = bits_,
            .group = head_dim,
            .symmetric = true,
            .clips = bits_ < 8,
            .transform = kernels::Transform::hadamard};
  }

  std::size_t bits_ = 4;
};
}  // namespace

extern const StageMaker codecs_klt = stage_of<KltCodec>("ours");
}  // namespace satchel::kvcache
