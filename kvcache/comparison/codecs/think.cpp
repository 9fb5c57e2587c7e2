// Keys without their quietest channels: the page keeps the rest as fp16 or at a few bits per
// channel, what is left out decodes to 0. V stays exact: a recipe gives it another codec.
//   planes  kept_channels  bytes [n]: which channels are kept, rising; n is the plane's count
//           exact16        fp16 [capacity, n], at 16 bits; else
//           codes          [capacity, n] of `bits`, low bits first
//           scale, zero    fp16 [n]
//   params  prune  part of the channels that is left out (0.4)
//           bits   16, 8, 4 or 2 (16)
//   bytes   per value of K (1 - prune) · (bits / 8 + 1 / capacity), and with codes 4 / capacity
//           more of the kept: at head_dim 128 and prune 0.4 9.66 bits, with 4-bit codes 2.59; exact
//           16 of V
//   bound   kept channels: none missing at 16 bits, else scale / 2; pruned ones: their size
//   source  arXiv:2407.21018 (ThinK)
//   differs the authors weigh a channel's mean square by that of the queries of the prompt's last
//           tokens, once for a lane; a page knows no query when it is made, so the mean square of
//           its keys ranks alone. Not for transformed keys, whose channels are alike
#include <algorithm>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/channel_order.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

class ThinkCode final : public OperandCode {
 public:
  std::string_view name() const override { return "think.k"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    if (n_tokens == 0) return;
    const Plane& list = layout.at(PlaneKind::kept_channels);
    const std::size_t n = list.count;
    std::vector<std::size_t> kept = loudest_channels(x, n_tokens, head_dim);
    kept.resize(n);
    std::sort(kept.begin(), kept.end());
    std::vector<float> dense(n_tokens * n);
    for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = x[i / n * head_dim + kept[i % n]];
    for (std::size_t i = 0; i < n; ++i) put_code(page, list, i, static_cast<unsigned>(kept[i]));
    if (const Plane* rows = layout.find(PlaneKind::exact16)) {
      for (std::size_t i = 0; i < dense.size(); ++i)
        put_half(page, *rows, i, float_to_half(dense[i]));
    } else {
      for (std::size_t i = 0; i < n; ++i)
        AffinePlanes(layout).encode(dense.data(), {.first = i, .n = n_tokens, .step = n}, i, page);
    }
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane& list = layout.at(PlaneKind::kept_channels);
    const std::size_t n = list.count;
    std::vector<float> dense(n_tokens * n);
    if (const Plane* rows = layout.find(PlaneKind::exact16)) {
      for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = float_at(page, *rows, i);
    } else {
      for (std::size_t i = 0; i < n; ++i)
        AffinePlanes(layout).decode(page, {.first = i, .n = n_tokens, .step = n}, i, dense.data());
    }
    std::fill_n(x, n_tokens * head_dim, 0.0f);
    for (std::size_t i = 0; i < dense.size(); ++i)
      if (const std::size_t c = code_at(page, list, i % n); c < head_dim)
        x[i / n * head_dim + c] = dense[i];
  }
};

class ThinkCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    double prune = 0;
    std::size_t bits = 16;
    SATCHEL_TRY_ASSIGN(prune, params.number("prune", {.fallback = 0.4, .min = 0, .max = 0.9}));
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 16, {16, 8, 4, 2}));
    k_ = std::make_shared<ThinkCode>();
    make_planes([=](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t n =
          head_dim - static_cast<std::size_t>(prune * static_cast<double>(head_dim));
      to.add({.kind = PlaneKind::kept_channels, .bits = 8, .count = static_cast<std::uint16_t>(n)},
             n);
      if (bits == 16) {
        to.add({.kind = PlaneKind::exact16}, capacity * n);
      } else {
        to.add_affine(bits, capacity, capacity * n, n);
      }
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_think = stage_of<ThinkCodec>("arXiv:2407.21018");
}  // namespace satchel::kvcache
