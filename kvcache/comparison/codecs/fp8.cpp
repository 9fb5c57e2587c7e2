// Floats of 8 bits, e4m3: a sign, 4 bits of exponent (bias 7), 3 of mantissa; largest 448, steps of
// 2^-9 below 2^-6, no infinity.
//   planes  codes  [capacity, head_dim] of 8 bits
//           scale  fp16, one
//   formula x = float(code) · scale; nearest, ties to even, beyond 448 · scale saturated
//   params  fit    scale = largest of the page / 448; else scale 1, as for values in their range
//                  (true)
//   bytes   1 per value, and 2 per page and operand
//   bound   |x - decoded| <= max(|x| / 16, scale / 1024), where nothing saturates
//   source  OCP 8-bit floating point specification (e4m3); arXiv:2209.05433
//   differs the scale is a page's: nothing is calibrated beforehand, and a scale per token, which
//           costs 16 / head_dim bits more, changes the error of a format with an exponent hardly;
//           the code of no number decodes to 0
#include <algorithm>
#include <cmath>

#include "kvcache/codecs/plane_codec.h"

namespace satchel::kvcache {
namespace {

constexpr float kLargest = 448;
constexpr int kExponentLeast = -6;
constexpr unsigned kSign = 0x80, kNoNumber = 0x7f;

unsigned e4m3_of(float x) {
  const float size = std::min(std::abs(x), kLargest);
  const int exponent = size > 0 ? std::max(std::ilogb(size), kExponentLeast) : kExponentLeast;
  // Eighths of 2^exponent: 8 to 16 of a normal value, so that 16 carries into the exponent.
  const float eighths = std::nearbyint(std::ldexp(size, 3 - exponent));
  const auto code =
      static_cast<unsigned>(exponent - kExponentLeast) * 8 + static_cast<unsigned>(eighths);
  return code | (std::signbit(x) ? kSign : 0);
}

float float_of(unsigned code) {
  const unsigned rest = code & ~kSign;
  if (rest == kNoNumber) return 0;
  const auto exponent = static_cast<int>(rest / 8), eighths = static_cast<int>(rest % 8);
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(eighths), kExponentLeast - 3)
                                   : std::ldexp(static_cast<float>(8 + eighths), exponent - 10);
  return (code & kSign) != 0 ? -size : size;
}

class Fp8Code final : public OperandCode {
 public:
  explicit Fp8Code(bool fits) : fits_(fits) {}

  std::string_view name() const override { return "fp8"; }

  void encode(const OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override {
    const Plane &codes = layout.at(PlaneKind::codes), &scales = layout.at(PlaneKind::scale);
    float largest = 0;
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      largest = std::max(largest, std::abs(x[i]));
    const Half scale_half = fits_ ? float_to_half_up(largest / kLargest) : float_to_half(1);
    const float scale = half_to_float(scale_half);
    if (!(scale > 0)) return;
    put_half(page, scales, 0, scale_half);
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      put_code(page, codes, i, e4m3_of(x[i] / scale));
  }

  void decode(const OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override {
    const Plane& codes = layout.at(PlaneKind::codes);
    const float scale = float_at(page, layout.at(PlaneKind::scale), 0);
    for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
      x[i] = float_of(code_at(page, codes, i)) * scale;
  }

 private:
  bool fits_;
};

class Fp8Codec final : public PlaneCodec {
 public:
  Result<void> read(Params& params) {
    bool fits = true;
    SATCHEL_TRY_ASSIGN(fits, params.flag("fit", true));
    k_ = v_ = std::make_shared<Fp8Code>(fits);
    make_planes([](Operand, std::size_t head_dim, std::size_t capacity, Planes& to) {
      to.add_codes(8, capacity * head_dim);
      to.add({.kind = PlaneKind::scale}, 1);
    });
    return {};
  }
};
}  // namespace

extern const StageMaker codecs_fp8 = stage_of<Fp8Codec>("arXiv:2209.05433");
}  // namespace satchel::kvcache
