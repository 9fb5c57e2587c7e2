// Unpacks the bit planes of 2- to 6-bit codes (repacked_weight.h), for the registers `V` of a
// level. Used for both kinds of activations: words (word_dot_kernel.h) and bytes
// (byte_dot_kernel.h).
#pragma once

#include <cstddef>

#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {
namespace {

inline constexpr std::size_t kVectorBytes = 64;  // of a plane's vector: 16 rows, two words each

// Of the pairs 4 · quad … 4 · quad + 3, in every byte of two pairs the first one's bits below.
template <class V, WeightType kType>
struct BitPlanes {
  using Int = typename V::Int;
  static constexpr QuantFormat kShape = quant_format(kType);
  static constexpr int kLow = static_cast<int>(kShape.low_bits()), kHigh = kShape.code_bits - kLow;

  Int low;   // from bit 0 of a byte on, kLow bits of each pair; what lies above is another quad's
  Int high;  // likewise kHigh bits of each; 0 where a code has no more

  SATCHEL_INLINE BitPlanes of(const std::byte* block, std::size_t first_row, std::size_t quad) {
    constexpr std::size_t kQuads = kLow == 2 ? 2 : 1;  // in a register of low bits
    const std::byte* at = block + first_row * 4;
    BitPlanes out{V::load(at + quad / kQuads * kVectorBytes), V::zero()};
    [[maybe_unused]] const int second = static_cast<int>(quad % 2 * 4);  // of two in a register
    if constexpr (kQuads == 2) out.low = V::shift_right_by(out.low, second);
    at += 4 / kQuads * kVectorBytes;
    if constexpr (kHigh == 1) out.high = V::shift_right_by(V::load(at), static_cast<int>(2 * quad));
    if constexpr (kHigh == 2)
      out.high = V::shift_right_by(V::load(at + quad / 2 * kVectorBytes), second);
    return out;
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
