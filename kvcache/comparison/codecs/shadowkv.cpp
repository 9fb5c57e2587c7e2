// Keys as a product of few factors: a row of them per token, a matrix for all. V stays exact: a
// recipe gives it another codec.
//   planes  token_factors    fp16 [capacity, rank]
//           channel_factors  fp16 [rank, head_dim]; the rank is the planes' count
//   formula k = token_factors · channel_factors, the largest singular vectors of the page's keys,
//           the root of the singular value in either
//   params  rank   by head_dim (0.15625: 160 of 1,024, the authors')
//   bytes   2 · rank · (1 / head_dim + 1 / capacity) per value of K: 5 bits at head_dim 128, rank
//           20; exact 16 of V
//   bound   the error of a page, as the root of the sum of squares, is about that of the best
//           picture of this rank: the root of the sum of squares of the singular values that are
//           left out
//   source  arXiv:2410.21465 (ShadowKV), the low-rank keys; its code (bytedance/ShadowKV)
//   differs of the page's keys of one head after RoPE, where the authors factorise a prompt's of
//           all heads before it, whose rank is lower and whose matrix serves many more tokens: at
//           equal error theirs is much smaller. Every token is read: no landmarks, no chunks chosen
//           by them, none kept exact, no V in another memory. Singular vectors by eight rounds of
//           block iteration
#include <algorithm>
#include <cmath>

#include "kvcache/codecs/low_rank.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kRounds = 8;  // chosen: on normal values a hundredth above the least error

class ShadowCode final : public OperandCode {
 public:
  std::string_view name() const override { return "shadowkv.k"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    if (n_tokens == 0) return;
    const Plane &tokens = layout.at(PlaneKind::token_factors),
                &channels = layout.at(PlaneKind::channel_factors);
    const std::size_t rank = tokens.count;
    const LowRank low = factorise({x, n_tokens * head_dim}, head_dim, rank, kRounds);
    for (std::size_t r = 0; r < rank; ++r) {
      double squares = 0;
      for (std::size_t c = 0; c < head_dim; ++c) squares += std::pow(low.channels[c * rank + r], 2);
      const double root = std::sqrt(std::sqrt(squares));  // both sides fit into fp16 then
      for (std::size_t t = 0; t < n_tokens; ++t)
        put_float(page, tokens, t * rank + r, low.tokens[t * rank + r] * root);
      for (std::size_t c = 0; c < head_dim; ++c)
        put_float(page, channels, r * head_dim + c,
                  root > 0 ? low.channels[c * rank + r] / root : 0);
    }
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane &tokens = layout.at(PlaneKind::token_factors),
                &channels = layout.at(PlaneKind::channel_factors);
    const std::size_t rank = tokens.count;
    std::fill_n(x, n_tokens * head_dim, 0.0f);
    for (std::size_t t = 0; t < n_tokens; ++t)
      for (std::size_t r = 0; r < rank; ++r) {
        const float factor = float_at(page, tokens, t * rank + r);
        for (std::size_t c = 0; c < head_dim; ++c)
          x[t * head_dim + c] += factor * float_at(page, channels, r * head_dim + c);
      }
  }
};

class ShadowKvCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    double part = 0;
    SATCHEL_TRY_ASSIGN(part, params.number("rank", {.fallback = 0.15625, .min = 0.01, .max = 1}));
    k_ = std::make_shared<ShadowCode>();
    make_planes([=](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t rank = std::max<std::size_t>(
          1, static_cast<std::size_t>(std::llround(part * static_cast<double>(head_dim))));
      const auto count = static_cast<std::uint16_t>(rank);
      to.add({.kind = PlaneKind::token_factors, .count = count}, capacity * rank);
      to.add({.kind = PlaneKind::channel_factors, .count = count}, rank * head_dim);
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_shadowkv = stage_of<ShadowKvCodec>("arXiv:2410.21465");
}  // namespace satchel::kvcache
