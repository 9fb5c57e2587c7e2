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
#include <algorithm>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/channel_order.h"
#include "kvcache/codecs/head_group.h"
#include "kvcache/codecs/plane_table.h"

namespace satchel::kvcache {
namespace {

using kernels::OperandLayout;
using kernels::Plane;
using kernels::PlaneKind;

class RotateCode final : public kernels::OperandCode {
 public:
  std::string_view name() const override { return "rotatekv"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const AffinePlanes planes(layout);
    std::vector<float> sorted(x, x + n_tokens * head_dim);
    if (const Plane* places = layout.find(PlaneKind::kept_channels)) {
      const std::vector<std::size_t> order = loudest_channels(x, n_tokens, head_dim);
      for (std::size_t i = 0; i < head_dim; ++i)
        put_code(page, *places, i, static_cast<unsigned>(order[i]));
      for (std::size_t i = 0; i < sorted.size(); ++i)
        sorted[i] = x[i / head_dim * head_dim + order[i % head_dim]];
    }
    const std::size_t group = planes.codes.group;
    for (std::size_t i = 0; i < sorted.size() / group; ++i)
      planes.encode(sorted.data(), {.first = i * group, .n = group}, i, page);
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const AffinePlanes planes(layout);
    const std::size_t group = planes.codes.group;
    for (std::size_t i = 0; i < n_tokens * head_dim / group; ++i)
      planes.decode(page, {.first = i * group, .n = group}, i, x);
    const Plane* places = layout.find(PlaneKind::kept_channels);
    std::vector<float> sorted(head_dim);
    for (std::size_t t = 0; places != nullptr && t < n_tokens; ++t) {
      std::swap_ranges(sorted.begin(), sorted.end(), x + t * head_dim);
      std::fill_n(x + t * head_dim, head_dim, 0.0f);  // an order from outside may leave one out
      for (std::size_t i = 0; i < head_dim; ++i)
        if (const std::size_t c = code_at(page, *places, i); c < head_dim)
          x[t * head_dim + c] = sorted[i];
    }
  }
};

class RotateCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 4, {2, 3, 4}));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 64, {16, 32, 64, 128}));
    table_.make([this](Operand operand, std::size_t head_dim, std::size_t capacity,
                       PlaneTable::Planes& to) {
      const std::size_t n_values = capacity * head_dim, group = head_group(head_dim, group_);
      to.add_affine(bits_, group, n_values, n_values / group);
      if (operand == Operand::k && group < head_dim)
        to.add({.kind = PlaneKind::kept_channels, .bits = 8}, head_dim);
    });
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                std::size_t capacity) const override {
    using Form = kernels::OperandShape::Form;
    if (operand == Operand::v && bits_ != 3)
      return {.form = Form::affine,
              .bits = bits_,
              .group = head_group(head_dim, group_),
              .transform = kernels::Transform::hadamard};
    return table_.coded(code_, operand, head_dim, capacity, kernels::Transform::hadamard);
  }

 private:
  std::size_t bits_ = 4, group_ = 64;
  RotateCode code_;
  PlaneTable table_;
};
}  // namespace

extern const StageMaker codecs_rotatekv = stage_of<RotateCodec>("arXiv:2501.16383");
}  // namespace satchel::kvcache
