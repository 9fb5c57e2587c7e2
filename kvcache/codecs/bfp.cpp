// Block floating point: n channels of a token share an exponent, of which each has a short
// mantissa; channels of K are sorted first, so that loud ones share blocks and leave the others
// fine steps.
//   planes  codes          [capacity, head_dim] of `bits`, low bits first, across bytes: mantissas,
//                          as whole numbers from -2^(bits - 1), in the order of channels below
//           scale          bytes [capacity, head_dim / block]: exponent + 127; 0: a block of zeros
//           kept_channels  bytes [head_dim], K if sorted: which channel lies where, loudest first
//   formula x = mantissa · 2^(exponent - bits + 2), exponent = floor(log2(largest of the block))
//   params  bits   3, 4, 5, 6 or 8, the sign counted (4)
//           block  16, 32, 64 or 128 (32); the largest common divisor of it and head_dim
//           sort   K's channels by the mean of their squares in the page (true)
//   bytes   per value bits + 8 / block, sorted K 8 / capacity more: 4.25 and 4.3125 bits at 4 bits,
//           block 32, capacity 128
//   bound   |x - decoded| <= half a step, at the upper end of a block's range a step
//   source  arXiv:2403.20137 (Accurate Block Quantization in LLMs with Outliers): BFP12 is 4 bits
//   differs channels are sorted after RoPE and page by page, by what they hold, and the page keeps
//           the order; the paper sorts the rows of the weights once, for ever
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kvcache/codecs/channel_order.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr int kBias = 127;
constexpr int kExponentMost = 16;  // of a half; a larger one comes from no page of ours

int step_exponent(unsigned stored, std::size_t bits) {
  return std::min(static_cast<int>(stored) - kBias, kExponentMost) - static_cast<int>(bits) + 2;
}

class BfpCode final : public OperandCode {
 public:
  std::string_view name() const override { return "bfp"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const std::vector<float> sorted = sort_channels(layout, x, n_tokens, head_dim, page);
    const std::size_t block = layout.at(PlaneKind::codes).group;
    for (std::size_t i = 0; i < sorted.size() / block; ++i)
      encode_block(layout, i, std::span(sorted).subspan(i * block, block), page);
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane &codes = layout.at(PlaneKind::codes), &exponents = layout.at(PlaneKind::scale);
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i) {
      const unsigned exponent = code_at(page, exponents, i / codes.group);
      const int mantissa = static_cast<int>(code_at(page, codes, i)) - (1 << (codes.bits - 1));
      x[i] = exponent == 0
                 ? 0.0f
                 : std::ldexp(static_cast<float>(mantissa), step_exponent(exponent, codes.bits));
    }
    unsort_channels(layout, page, n_tokens, head_dim, x);
  }

 private:
  static void encode_block(const OperandLayout& layout, std::size_t block, std::span<const float> x,
                           std::byte* page) {
    const Plane& codes = layout.at(PlaneKind::codes);
    float largest = 0;
    for (const float value : x) largest = std::max(largest, std::abs(value));
    const auto middle = static_cast<float>(1u << (codes.bits - 1));
    const auto exponent = static_cast<unsigned>(largest > 0 ? std::ilogb(largest) + kBias : 0);
    put_code(page, layout.at(PlaneKind::scale), block, exponent);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float steps =
          exponent == 0 ? 0 : std::ldexp(x[i], -step_exponent(exponent, codes.bits));
      const float mantissa = std::clamp(std::nearbyint(steps), -middle, middle - 1);
      put_code(page, codes, block * x.size() + i, static_cast<unsigned>(mantissa + middle));
    }
  }
};

class BfpCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 4, block = 32;
    bool sorts = true;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 4, {3, 4, 5, 6, 8}));
    SATCHEL_TRY_ASSIGN(block, params.one_of("block", 32, {16, 32, 64, 128}));
    SATCHEL_TRY_ASSIGN(sorts, params.flag("sort", true));
    k_ = v_ = std::make_shared<BfpCode>();
    make_planes([=](Operand operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      const std::size_t n_values = capacity * head_dim, shared = std::gcd(block, head_dim);
      to.add_codes(bits, n_values, shared);
      to.add({.kind = PlaneKind::scale, .bits = 8}, n_values / shared);
      if (sorts && operand == Operand::k)
        to.add({.kind = PlaneKind::kept_channels, .bits = 8}, head_dim);
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_bfp = stage_of<BfpCodec>("arXiv:2403.20137");
}  // namespace satchel::kvcache
