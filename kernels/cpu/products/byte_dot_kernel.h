// Dot products of a block's codes with 8-bit activations, for the registers `V` of a level. A
// register of weights is unpacked to bytes, and four products at a time are added. Layouts:
// repacked_weight.h, matmul_table.h.
//   sums    exact, as in word_dot_kernel.h. If a level has no instruction for four byte products
//           (kDotsBytes), pairs are first added in 16 bits, as many as always fit. Types whose
//           codes are too large for a pair are not supported: two more instructions would cost what
//           the bytes save.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/products/bit_planes_kernel.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {
namespace {

template <class Level, WeightType kOfType>
struct ByteDot {
  using V = Level;
  using Int = typename V::Int;
  using Planes = BitPlanes<V, kOfType>;
  static constexpr WeightType kType = kOfType;
  static constexpr QuantFormat kShape = quant_format(kType);
  static constexpr bool kMeets = V::kDotsBytes || kShape.pairs_in_16_bits() != 0;
  static constexpr std::size_t kWords = kBlockValues / 4;  // of a block's activations

  // The pairs 4 · quad and 4 · quad + 2, then the other two, as bytes, of the rows from first_row
  // on.
  SATCHEL_INLINE void code_bytes(const std::byte* block, std::size_t first_row, std::size_t quad,
                                 Int* bytes) {
    if constexpr (kShape.code_bits == 8) {
      const std::byte* at = block + quad * 2 * kVectorBytes + first_row * 2;
      unroll<0, 2>([&](auto i) SATCHEL_INLINE_LAMBDA {
        bytes[i] = V::xor_(V::zip_bytes(at + i * kVectorBytes), V::words(0x8080));
      });
      return;
    }
    constexpr int kLow = Planes::kLow, kHigh = Planes::kHigh;
    const Planes planes = Planes::of(block, first_row, quad);
    unroll<0, 2>([&](auto i) SATCHEL_INLINE_LAMBDA {
      constexpr int kPair = static_cast<int>(decltype(i)::value);
      constexpr int kLowMask = ((1 << kLow) - 1) * 0x101;
      bytes[i] = V::and_(V::template shift_right<kPair * kLow>(planes.low), V::words(kLowMask));
      if constexpr (kHigh > 0) {
        constexpr int kHighMask = (((1 << kHigh) - 1) << kLow) * 0x101;
        const Int placed = V::template shift_right<kPair * kHigh - kLow>(planes.high);
        bytes[i] = V::or_(bytes[i], V::and_(placed, V::words(kHighMask)));
      }
      if constexpr (kShape.table != nullptr) {
        static constexpr UnsignedTable kTable = unsigned_table(kShape);
        bytes[i] = V::look_up(V::repeat(kTable.bytes), bytes[i]);
      }
    });
  }

  // As WordDot::sums.
  template <std::size_t kScale, std::size_t kRowStep, std::size_t kVectors, std::size_t kTokens>
  SATCHEL_INLINE void sums(const std::byte* block, std::size_t first_row, std::size_t next_group,
                           const std::int32_t* x, const std::int32_t* start,
                           Int (&sum)[kVectors][kTokens]) {
    constexpr int kOffset = kShape.code_bits == 8 ? kByteOffset : kShape.offset;
    constexpr std::size_t kQuads = kBlockValues / 8 / kShape.scales;
    constexpr std::size_t kAtOnce = V::kDotsBytes || kShape.pairs_in_16_bits() >= 4 ? 2 : 1;
    unroll_both<kVectors, kTokens>([&](auto v, auto t) SATCHEL_INLINE_LAMBDA {
      sum[v][t] = kOffset == 0 ? V::zero() : V::broadcast(start + t);
    });
    for (std::size_t quad = kScale * kQuads; quad < (kScale + 1) * kQuads; quad += kAtOnce) {
      Int code[kVectors][2 * kAtOnce];
      unroll_both<kVectors, kAtOnce>([&](auto v, auto q) SATCHEL_INLINE_LAMBDA {
        code_bytes(block + v * next_group, first_row + v * kRowStep, quad + q, code[v] + 2 * q);
      });
      const std::int32_t* of_quad = x + quad * 2 * kTokens;
      unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
        sum[v][t] = add_products<2 * kAtOnce, kTokens>(sum[v][t], code[v], of_quad + t);
      });
    }
  }

  // sum + kRegisters of codes times the bytes at x, x + kStep …
  template <std::size_t kRegisters, std::size_t kStep>
  SATCHEL_INLINE Int add_products(Int sum, const Int* code, const std::int32_t* x) {
    if constexpr (V::kDotsBytes) {
      unroll<0, kRegisters>([&](auto i) SATCHEL_INLINE_LAMBDA {
        sum = V::dot_bytes(sum, code[i], V::broadcast(x + i * kStep));
      });
      return sum;
    } else {
      Int pairs = V::pairs_of_bytes(code[0], V::broadcast(x));
      unroll<1, kRegisters>([&](auto i) SATCHEL_INLINE_LAMBDA {
        pairs = V::add_words(pairs, V::pairs_of_bytes(code[i], V::broadcast(x + i * kStep)));
      });
      return V::dot(sum, pairs, V::words(1));
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
