// Affine codes per token of transformed values, after a token's largest have been cut to the size
// of a quantile: a narrower range serves the others.
//   planes  codes        [capacity, head_dim] of `bits`, low bits first
//           scale, zero  fp16 [capacity, head_dim / group]
//   formula x = code · scale + zero, transformed back
//   params  bits    2 or 4 (2)
//           group   32, 64 or 128 (128); or the most that divide head_dim (head_group.h)
//           clip_k  K: cut to the size whose rank among the token's is this part of them (0.96)
//           clip_v  V (0.92)
//           turn    by Hadamard (true). The authors' rotation is learned from a model's queries,
//                   keys and values, and a Hadamard transform follows it; here the transform is all
//                   of it
//   bytes   per value bits / 8 + 4 / group: 2.25 bits at 2 bits, head_dim 128
//   bound   per transformed value scale / 2 and the rounding of two halves, of those not cut
//   source  arXiv:2605.17757 (OSCAR); its code (FutureMLS-Lab/OSCAR)
//   differs no learned rotation; scale and minimum are fp16, rounded outward before coding; codes
//           lie side by side, not a quarter of the head apart
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/codecs/head_group.h"
#include "kvcache/codecs/plane_table.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

using kernels::OperandLayout;

class OscarCode final : public TokenCode {
 public:
  double clip = 1;

  OscarCode() : TokenCode("oscar") {}

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const AffinePlanes planes(layout);
    const std::size_t group = planes.codes.group, n_groups = head_dim / group;
    std::vector<float> row(head_dim);
    for (std::size_t t = 0; t < n_tokens; ++t) {
      std::copy_n(x + t * head_dim, head_dim, row.begin());
      cut(row);
      for (std::size_t g = 0; g < n_groups; ++g) {
        const AffineGrid grid =
            grid_of(row.data(), {.first = g * group, .n = group}, planes.codes.bits);
        planes.put_range(page, t * n_groups + g, grid);
        for (std::size_t c = g * group; c < (g + 1) * group; ++c)
          put_code(page, planes.codes, t * head_dim + c, grid.code_of(row[c]));
      }
    }
  }

 private:
  void cut(std::vector<float>& row) const {
    std::vector<float> sizes;
    for (const float x : row) sizes.push_back(std::abs(x));
    const auto rank = static_cast<std::ptrdiff_t>(clip * static_cast<double>(row.size()));
    const auto at = sizes.begin() + std::min(rank, static_cast<std::ptrdiff_t>(row.size()) - 1);
    std::nth_element(sizes.begin(), at, sizes.end());
    for (float& x : row) x = std::clamp(x, -*at, *at);
  }
};

class OscarCodec final : public Codec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 2, group_most = 128;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 2, {2, 4}));
    SATCHEL_TRY_ASSIGN(group_most, params.one_of("group", 128, {32, 64, 128}));
    SATCHEL_TRY_ASSIGN(k_.clip, params.number("clip_k", {.fallback = 0.96, .min = 0.5, .max = 1}));
    SATCHEL_TRY_ASSIGN(v_.clip, params.number("clip_v", {.fallback = 0.92, .min = 0.5, .max = 1}));
    SATCHEL_TRY_ASSIGN(transforms_, params.flag("turn", true));
    table_.make([=](Operand, std::size_t head_dim, std::size_t capacity, PlaneTable::Planes& to) {
      const std::size_t n_values = capacity * head_dim, group = head_group(head_dim, group_most);
      to.add_affine(bits, group, n_values, n_values / group);
    });
    return {};
  }
  kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                std::size_t capacity) const override {
    return table_.coded(operand == Operand::k ? k_ : v_, operand, head_dim, capacity,
                        transforms_ ? kernels::Transform::hadamard : kernels::Transform::none);
  }

 private:
  OscarCode k_, v_;
  bool transforms_ = true;
  PlaneTable table_;
};
}  // namespace

extern const StageMaker codecs_oscar = stage_of<OscarCodec>("arXiv:2605.17757");
}  // namespace satchel::kvcache
