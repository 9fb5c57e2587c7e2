// Whole numbers of 8 or 4 bits with one range for each token's vector of a head, of K and of V.
//   planes  codes  [capacity, head_dim] of `bits`, low bits first
//           scale  fp16 [capacity]
//           zero   fp16 [capacity], the minimum; not if symmetric
//   formula x = code · scale + zero; symmetric: x = (code - 2^(bits - 1)) · scale
//   params  bits       4 or 8 (8)
//           symmetric  around 0, without a minimum (false)
//   bytes   per value bits / 8 + 4 / head_dim, symmetric bits / 8 + 2 / head_dim: at 4 bits and
//           head_dim 128 4.25 and 4.125 bits per value
//   bound   |x - decoded| <= scale / 2, and the rounding of two halves
//   source  arXiv:2303.06865 (FlexGen) for 4-bit groups; at 4 bits the codec of Q-Hitter
//           (qhitter.cpp)
//   differs the minimum is an fp16 number, not a whole code cut to 0 … 2^bits - 1, which decodes a
//           group without a zero in it to another value; rounded outward before coding. V with a
//           minimum is of the affine family, so that fused attention reads it
#include <algorithm>
#include <cmath>

#include "kvcache/codecs/affine_grid.h"
#include "kvcache/codecs/plane_codec.h"
#include "kvcache/codecs/token_code.h"

namespace satchel::kvcache {
namespace {

class SymmetricTokenCode final : public OperandCode {
 public:
  std::string_view name() const override { return "int_token.symmetric"; }
  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const Plane &codes = layout.at(PlaneKind::codes), &scales = layout.at(PlaneKind::scale);
    const auto middle = static_cast<float>(1u << (codes.bits - 1));
    for (std::size_t t = 0; t < n_tokens; ++t) {
      const float* row = x + t * head_dim;
      float largest = 0;
      for (std::size_t c = 0; c < head_dim; ++c) largest = std::max(largest, std::abs(row[c]));
      const Half scale_half = float_to_half_up(largest / (middle - 1));
      const float scale = half_to_float(scale_half);
      put_half(page, scales, t, scale_half);
      for (std::size_t c = 0; c < head_dim; ++c) {
        const float code = scale > 0 ? std::nearbyint(row[c] / scale) : 0.0f;
        put_code(page, codes, t * head_dim + c,
                 static_cast<unsigned>(std::clamp(code, 1 - middle, middle - 1) + middle));
      }
    }
  }
  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane &codes = layout.at(PlaneKind::codes), &scales = layout.at(PlaneKind::scale);
    const int middle = 1 << (codes.bits - 1);
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] = static_cast<float>(static_cast<int>(code_at(page, codes, i)) - middle) *
             float_at(page, scales, i / head_dim);
  }
};

class IntTokenCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    bool is_symmetric = false;
    SATCHEL_TRY_ASSIGN(bits_, params.one_of("bits", 8, {4, 8}));
    SATCHEL_TRY_ASSIGN(is_symmetric, params.flag("symmetric", false));
    if (is_symmetric) {
      k_ = v_ = std::make_shared<SymmetricTokenCode>();
    } else {
      k_ = std::make_shared<TokenCode>("int_token");
    }
    make_planes([=, this](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      if (!is_symmetric) return to.add_affine(bits_, head_dim, capacity * head_dim, capacity);
      to.add_codes(bits_, capacity * head_dim);
      to.add({.kind = PlaneKind::scale}, capacity);
    });
    return {};
  }

 private:
  kernels::OperandShape without_code(std::size_t head_dim, std::size_t) const override {
    return {.form = kernels::OperandShape::Form::affine, .bits = bits_, .group = head_dim};
  }

  std::size_t bits_ = 8;
};
}  // namespace

extern const StageMaker codecs_int_token = stage_of<IntTokenCodec>("arXiv:2303.06865");
}  // namespace satchel::kvcache
