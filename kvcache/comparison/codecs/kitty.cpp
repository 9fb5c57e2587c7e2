// K at 2 bits per channel over the page, the loudest channels at 4, whose lower two bits lie in a
// plane of their own; V at 2 bits per token.
//   planes  codes          [capacity, head_dim] of 2 bits, low bits first; of a boosted channel the
//                          upper two of its four
//           scale, zero    fp16 [head_dim]
//           kept_channels  bytes [n]: the boosted channels, rising; n is the plane's count
//           codes again    [capacity, n] of 2 bits: the lower two
//           V              affine, in groups of all channels
//   formula x = code · scale + zero, of a boosted channel x = (4 · upper + lower) · scale + zero
//   params  boost  part of the channels that is boosted (0.125; the authors' Pro: 0.25)
//   bytes   per value of K 2 + 2 · boost bits, 32 / capacity for ranges and 8 · boost / capacity
//           for the list: 2.51 bits at head_dim 128; of V 2 + 32 / head_dim
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves
//   source  arXiv:2511.18643 (Kitty); its code (Summer-Summer/Kitty)
//   differs channels are ranked by the mean of their sizes in the page; scale and minimum are
//           rounded outward before coding, and a channel without spread has scale 0
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/channel_order.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

// The n channels of the largest mean size, rising.
std::vector<std::size_t> boosted_channels(const float* x, std::size_t n_tokens,
                                          std::size_t head_dim, std::size_t n) {
  std::vector<double> sizes(head_dim);
  for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
    sizes[i % head_dim] += std::abs(static_cast<double>(x[i]));
  std::vector<std::size_t> channels = order_of(sizes);
  channels.resize(n);
  std::sort(channels.begin(), channels.end());
  return channels;
}

class KittyCode final : public OperandCode {
 public:
  std::string_view name() const override { return "kitty.k"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    if (n_tokens == 0) return;
    const AffinePlanes planes(layout);
    const Plane* list = layout.find(PlaneKind::kept_channels);
    const std::size_t n = list == nullptr ? 0 : list->count;
    const std::vector<std::size_t> boosted = boosted_channels(x, n_tokens, head_dim, n);
    for (std::size_t c = 0, i = 0; c < head_dim; ++c) {
      const bool is_boosted = i < n && boosted[i] == c;
      const CellRow channel{.first = c, .n = n_tokens, .step = head_dim};
      const AffineGrid grid = grid_of(x, channel, is_boosted ? 4 : 2);
      planes.put_range(page, c, grid);
      if (is_boosted) put_code(page, *list, i, static_cast<unsigned>(c));
      for (std::size_t t = 0; t < n_tokens; ++t) {
        const unsigned code = grid.code_of(x[channel.at(t)]);
        put_code(page, planes.codes, channel.at(t), is_boosted ? code / 4 : code);
        if (is_boosted) put_code(page, lower(layout), t * n + i, code % 4);
      }
      if (is_boosted) ++i;
    }
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const AffinePlanes planes(layout);
    for (std::size_t c = 0; c < head_dim; ++c)
      planes.decode(page, {.first = c, .n = n_tokens, .step = head_dim}, c, x);
    const Plane* list = layout.find(PlaneKind::kept_channels);
    for (std::size_t i = 0; list != nullptr && i < list->count; ++i) {
      const std::size_t c = code_at(page, *list, i);
      if (c >= head_dim) continue;  // bytes from outside may say anything
      const float scale = float_at(page, planes.scale, c), zero = float_at(page, planes.zero, c);
      for (std::size_t t = 0; t < n_tokens; ++t) {
        const unsigned upper = code_at(page, planes.codes, t * head_dim + c);
        const unsigned code = 4 * upper + code_at(page, lower(layout), t * list->count + i);
        x[t * head_dim + c] = static_cast<float>(code) * scale + zero;
      }
    }
  }

 private:
  static const Plane& lower(const OperandLayout& layout) { return layout.all().back(); }
};

class KittyCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    double boost = 0;
    SATCHEL_TRY_ASSIGN(boost, params.number("boost", {.fallback = 0.125, .min = 0, .max = 1}));
    k_ = std::make_shared<KittyCode>();
    make_planes([boost](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const auto n = static_cast<std::size_t>(boost * static_cast<double>(head_dim));
      const auto count = static_cast<std::uint16_t>(n);
      to.add_affine(2, capacity, capacity * head_dim, head_dim);
      if (n == 0) return;
      to.add({.kind = PlaneKind::kept_channels, .bits = 8, .count = count}, n);
      to.add({.kind = PlaneKind::codes, .bits = 2, .count = count}, capacity * n);
    });
    return {};
  }

 private:
  kernels::OperandShape without_code(std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine, .bits = 2, .group = head_dim};
  }
};
}  // namespace

extern const StageMaker codecs_kitty = stage_of<KittyCodec>("arXiv:2511.18643");
}  // namespace satchel::kvcache
