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
#include "kvcache/codecs/plane_codec.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

class OscarCode final : public TokenCode {
 public:
  explicit OscarCode(double clip) : TokenCode("oscar"), clip_(clip) {}

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    std::vector<float> rows(x, x + n_tokens * head_dim);
    for (std::size_t t = 0; t < n_tokens; ++t) cut(std::span(rows).subspan(t * head_dim, head_dim));
    TokenCode::encode(layout, rows.data(), n_tokens, head_dim, page);
  }

 private:
  void cut(std::span<float> row) const {
    std::vector<float> sizes;
    for (const float x : row) sizes.push_back(std::abs(x));
    const auto rank = static_cast<std::ptrdiff_t>(clip_ * static_cast<double>(row.size()));
    const auto at = sizes.begin() + std::min(rank, static_cast<std::ptrdiff_t>(row.size()) - 1);
    std::nth_element(sizes.begin(), at, sizes.end());
    for (float& x : row) x = std::clamp(x, -*at, *at);
  }

  double clip_;
};

class OscarCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 2, group_most = 128;
    double clip_k = 0, clip_v = 0;
    bool transforms = true;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 2, {2, 4}));
    SATCHEL_TRY_ASSIGN(group_most, params.one_of("group", 128, {32, 64, 128}));
    SATCHEL_TRY_ASSIGN(clip_k, params.number("clip_k", {.fallback = 0.96, .min = 0.5, .max = 1}));
    SATCHEL_TRY_ASSIGN(clip_v, params.number("clip_v", {.fallback = 0.92, .min = 0.5, .max = 1}));
    SATCHEL_TRY_ASSIGN(transforms, params.flag("turn", true));
    k_ = std::make_shared<OscarCode>(clip_k);
    v_ = std::make_shared<OscarCode>(clip_v);
    if (transforms) transform_ = kernels::Transform::hadamard;
    make_planes([=](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t n_values = capacity * head_dim, group = head_group(head_dim, group_most);
      to.add_affine(bits, group, n_values, n_values / group);
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_oscar = stage_of<OscarCodec>("arXiv:2605.17757");
}  // namespace satchel::kvcache
