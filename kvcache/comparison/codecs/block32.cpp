// Blocks of 32 channels of one token with a scale each, K and V alike: what llama.cpp calls q8_0,
// q5_0 and q4_0, and with a minimum q5_1 and q4_1.
//   planes  codes  [capacity, head_dim] of `bits`, low bits first, across bytes
//           scale  fp16 [capacity, head_dim / block]
//           zero   fp16 alike, with a minimum only
//   formula x = (code - 2^(bits - 1)) · scale, with a minimum x = code · scale + zero;
//           transformed back
//   params  bits     4, 5 or 8 (4)
//           minimum  a scale from the least to the largest (false: around 0)
//           refit    the scale once more, by least squares for the codes that were chosen, weighted
//                    by the values' squares; not with a minimum (false)
//           turn     by Hadamard (true: llama.cpp does so since 2026)
//   bytes   per value bits / 8 + 2 / 32, with a minimum bits / 8 + 4 / 32: 8.5, 5.5 and 4.5, 6 and
//           5 bits per value; block is the largest common divisor of 32 and head_dim (80: 16)
//   bound   in units of the stored scale, which the codes do not know of: 8 bits 1 / 2; fewer 1, as
//           the longest value takes the lowest code and its opposite has none; with a minimum
//           1 / 2; and the rounding of the halves, for each code. A refit scale has no bound
//   source  ggml's quantiser (ggml-org/ggml, ggml-quants.c); refit: ikawrakow/ik_llama.cpp;
//           transformed: arXiv:2404.00456
//   differs places of codes in the page; blocks of 16 where head_dim asks for them
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

// A block's scale and minimum before they are rounded: codes are made from these.
struct Range {
  float scale = 0, low = 0;
};

Range range_from_least(std::span<const float> x, std::size_t bits) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  return {.scale = (*high - *low) / static_cast<float>((1u << bits) - 1), .low = *low};
}
// 8 bits: the longest value is 127 steps. Fewer: -2^(bits - 1) steps, which is code 0.
Range range_around_zero(std::span<const float> x, std::size_t bits) {
  const float longest = *std::max_element(
      x.begin(), x.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
  if (bits == 8) return {.scale = std::abs(longest) / 127};
  return {.scale = longest / -static_cast<float>(1u << (bits - 1))};
}

class Block32Code final : public OperandCode {
 public:
  explicit Block32Code(bool refits) : refits_(refits) {}

  std::string_view name() const override { return "block32"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const std::size_t block = layout.at(PlaneKind::codes).group;
    for (std::size_t i = 0; i < n_tokens * head_dim / block; ++i)
      encode_block(layout, i, std::span(x + i * block, block), page);
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane &codes = layout.at(PlaneKind::codes), &scales = layout.at(PlaneKind::scale);
    const Plane* lows = layout.find(PlaneKind::zero);
    const int middle = lows == nullptr ? 1 << (codes.bits - 1) : 0;
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i) {
      const int code = static_cast<int>(code_at(page, codes, i)) - middle;
      x[i] = static_cast<float>(code) * float_at(page, scales, i / codes.group);
      if (lows != nullptr) x[i] += float_at(page, *lows, i / codes.group);
    }
  }

 private:
  void encode_block(const OperandLayout& layout, std::size_t block, std::span<const float> x,
                    std::byte* page) const {
    const Plane& codes = layout.at(PlaneKind::codes);
    const Plane* lows = layout.find(PlaneKind::zero);
    const Range range =
        lows != nullptr ? range_from_least(x, codes.bits) : range_around_zero(x, codes.bits);
    const float inverse = range.scale != 0 ? 1 / range.scale : 0;
    const auto top = static_cast<float>((1u << codes.bits) - 1), middle = (top + 1) / 2;
    double fitted = 0, squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float steps = (x[i] - range.low) * inverse;
      float code = std::trunc(steps + (lows != nullptr ? 0.5f : middle + 0.5f));
      if (lows == nullptr && codes.bits == 8) code = std::round(steps) + middle;
      code = std::clamp(code, 0.0f, top);
      put_code(page, codes, block * x.size() + i, static_cast<unsigned>(code));
      const double value = static_cast<double>(x[i]),
                   signed_code = static_cast<double>(code - middle);
      fitted += value * value * signed_code * value;
      squares += value * value * signed_code * signed_code;
    }
    double scale = static_cast<double>(range.scale);
    if (refits_ && lows == nullptr && squares > 0) scale = fitted / squares;
    put_float(page, layout.at(PlaneKind::scale), block, scale);
    if (lows != nullptr) put_float(page, *lows, block, static_cast<double>(range.low));
  }

  bool refits_;
};

class Block32Codec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 4;
    bool has_minimum = false, refits = false, transforms = true;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 4, {4, 5, 8}));
    SATCHEL_TRY_ASSIGN(has_minimum, params.flag("minimum", false));
    SATCHEL_TRY_ASSIGN(refits, params.flag("refit", false));
    SATCHEL_TRY_ASSIGN(transforms, params.flag("turn", true));
    k_ = v_ = std::make_shared<Block32Code>(refits);
    if (transforms) transform_ = kernels::Transform::hadamard;
    make_planes([=](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t n_values = capacity * head_dim, block = std::gcd(kBlock, head_dim);
      to.add_codes(bits, n_values, block);
      to.add({.kind = PlaneKind::scale}, n_values / block);
      if (has_minimum) to.add({.kind = PlaneKind::zero}, n_values / block);
    });
    return {};
  }

 private:
  static constexpr std::size_t kBlock = 32;
};
}  // namespace

extern const StageMaker codecs_block32 =
    stage_of<Block32Codec>("ggml's q8_0, q5_0, q4_0, q5_1, q4_1");
}  // namespace satchel::kvcache
