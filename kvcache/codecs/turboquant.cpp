// A token's length, and its direction transformed at random, where each coordinate is about normal:
// the nearest of 2^bits levels that are best for normal values.
//   planes  codes          [capacity, head_dim] of `bits`, low bits first, across bytes
//           token_factors  fp16 [capacity]
//   formula x = back(level[code] · factor); back undoes: signs by a fixed hash, Hadamard in blocks
//           of the largest power of two that divides head_dim, then, of several blocks, the
//           reflection of all blocks about their mean
//   params  bits  2, 3 or 4 (4)
//           turn  false: coordinates as they are (true)
//   bytes   per value bits / 8 + 2 / head_dim: 4.125 bits per value at 4 bits, head_dim 128
//   bound   none for a value; of a normal vector's squares 0.12, 0.035 and 0.0095 are missed at 2,
//           3 and 4 bits. Lengths are kept: factor = |x| / |levels|
//   source  arXiv:2504.19874 (TurboQuant), the codes for least squared error; levels: Lloyd 1957,
//           Max 1960, for a normal distribution
//   differs the factor makes the decoded vector as long as x, and no second sketch of a bit a value
//           corrects products; a fast transform in place of a random rotation; K and V alike
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/contract/transform.h"
#include "kvcache/codecs/hashed_sign.h"
#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr double kFactorMost = 65504;

// The upper half; the lower mirrors it.
std::span<const double> levels_of(std::size_t bits) {
  static constexpr std::array kTwo = {0.4528, 1.5104};
  static constexpr std::array kThree = {0.2451, 0.7560, 1.3439, 2.1520};
  static constexpr std::array kFour = {0.1284, 0.3881, 0.6568, 0.9424,
                                       1.2562, 1.6181, 2.0690, 2.7326};
  if (bits == 2) return kTwo;
  if (bits == 3) return kThree;
  return kFour;
}

double level_of(std::span<const double> upper, unsigned code) {
  const std::size_t n = upper.size();
  return code >= n ? upper[code - n] : -upper[n - 1 - code];
}

// The nearest level; 0 belongs to the upper half.
unsigned code_of(std::span<const double> upper, double x) {
  std::size_t i = 0;
  while (i + 1 < upper.size() && std::abs(x) > (upper[i] + upper[i + 1]) / 2) ++i;
  return static_cast<unsigned>(x < 0 ? upper.size() - 1 - i : upper.size() + i);
}

// Blocks of the transform know nothing of each other: this spreads what one of them holds.
void reflect_blocks(float* row, std::size_t head_dim) {
  const std::size_t block = kernels::hadamard_block(head_dim), n = head_dim / block;
  if (n == 1) return;
  for (std::size_t i = 0; i < block; ++i) {
    float sum = 0;
    for (std::size_t b = 0; b < n; ++b) sum += row[b * block + i];
    for (std::size_t b = 0; b < n; ++b) row[b * block + i] -= 2 * sum / static_cast<float>(n);
  }
}

void give_signs(float* row, std::size_t head_dim) {
  for (std::size_t c = 0; c < head_dim; ++c) row[c] *= static_cast<float>(hashed_sign(c));
}

class TurboCode final : public OperandCode {
 public:
  explicit TurboCode(bool transforms) : transforms_(transforms) {}

  std::string_view name() const override { return transforms_ ? "turboquant" : "turboquant.plain"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    std::vector<float> row(head_dim);
    for (std::size_t t = 0; t < n_tokens; ++t) {
      std::copy_n(x + t * head_dim, head_dim, row.begin());
      if (transforms_) {
        give_signs(row.data(), head_dim);
        kernels::transform_rows(kernels::Transform::hadamard, row.data(), 1, head_dim);
        reflect_blocks(row.data(), head_dim);
      }
      encode_row(layout, row, t, page);
    }
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane& codes = layout.at(PlaneKind::codes);
    const std::span<const double> levels = levels_of(codes.bits);
    for (std::size_t t = 0; t < n_tokens; ++t) {
      float* row = x + t * head_dim;
      const float factor = float_at(page, layout.at(PlaneKind::token_factors), t);
      for (std::size_t c = 0; c < head_dim; ++c)
        row[c] =
            static_cast<float>(level_of(levels, code_at(page, codes, t * head_dim + c))) * factor;
      if (!transforms_) continue;
      reflect_blocks(row, head_dim);
      kernels::transform_rows(kernels::Transform::hadamard, row, 1, head_dim);
      give_signs(row, head_dim);
    }
  }

 private:
  static void encode_row(const OperandLayout& layout, std::span<const float> row, std::size_t t,
                         std::byte* page) {
    const Plane& codes = layout.at(PlaneKind::codes);
    const std::span<const double> levels = levels_of(codes.bits);
    double squares = 0, squares_coded = 0;
    for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
    if (!(squares > 0)) return;  // factor 0
    const double to_unit = std::sqrt(static_cast<double>(row.size()) / squares);
    for (std::size_t c = 0; c < row.size(); ++c) {
      const unsigned code = code_of(levels, static_cast<double>(row[c]) * to_unit);
      put_code(page, codes, t * row.size() + c, code);
      squares_coded += level_of(levels, code) * level_of(levels, code);
    }
    put_float(page, layout.at(PlaneKind::token_factors), t,
              std::min(std::sqrt(squares / squares_coded), kFactorMost));
  }

  bool transforms_;
};

class TurboCodec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    std::size_t bits = 4;
    bool transforms = true;
    SATCHEL_TRY_ASSIGN(bits, params.one_of("bits", 4, {2, 3, 4}));
    SATCHEL_TRY_ASSIGN(transforms, params.flag("turn", true));
    k_ = v_ = std::make_shared<TurboCode>(transforms);
    make_planes([=](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      to.add_codes(bits, capacity * head_dim);
      to.add({.kind = PlaneKind::token_factors, .count = 1}, capacity);
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_turboquant = stage_of<TurboCodec>("arXiv:2504.19874");
}  // namespace satchel::kvcache
