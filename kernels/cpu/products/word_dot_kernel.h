// Sums of products of a block's codes with 16-bit activations, over the registers `V` of a level: a
// vector register of weights is taken apart into words, and two products at a time are added.
// Layouts: repacked_weight.h, matmul_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/products/bit_planes_kernel.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {
namespace {

template <class Level, WeightType kOfType>
struct WordDot {
  using V = Level;
  using Int = typename V::Int;
  using Planes = BitPlanes<V, kOfType>;
  static constexpr WeightType kType = kOfType;
  static constexpr QuantFormat kShape = quant_format(kType);
  static constexpr bool kMeets = true;
  static constexpr std::size_t kWords = kBlockPairs;  // of a block's activations

  // The pairs 4 · quad … 4 · quad + 3, as words, of the rows from first_row on.
  SATCHEL_INLINE void code_words(const std::byte* block, std::size_t first_row, std::size_t quad,
                                 Int* words) {
    if constexpr (kShape.code_bits == 8) {
      const std::byte* at = block + quad * 2 * kVectorBytes + first_row * 2;
      unroll<0, 4>([&](auto i) SATCHEL_INLINE_LAMBDA {
        words[i] = V::load_bytes(at + (i % 2 * 2 + i / 2) * kVectorBytes / 2);
      });
      return;
    }
    constexpr int kLow = Planes::kLow, kHigh = Planes::kHigh;
    const Planes planes = Planes::of(block, first_row, quad);
    if constexpr (kShape.table != nullptr) return table_words(planes.low, words);
    unroll<0, 4>([&](auto i) SATCHEL_INLINE_LAMBDA {
      constexpr int kPair = static_cast<int>(decltype(i)::value);
      constexpr int kByte = kPair / 2 * 8, kLowAt = kByte + kPair % 2 * kLow;
      words[i] = V::template shift_right<kLowAt>(planes.low);
      if constexpr (kLowAt + kLow < 16) words[i] = V::and_(words[i], V::words((1 << kLow) - 1));
      if constexpr (kHigh > 0) {
        constexpr int kHighAt = kByte + kPair % 2 * kHigh;
        const Int placed = V::template shift_right<kHighAt - kLow>(planes.high);
        words[i] = V::or_(words[i], V::and_(placed, V::words(((1 << kHigh) - 1) << kLow)));
      }
    });
  }

  // What four nibbles of each word stand for, made unsigned by the offset: bytes are looked up, the
  // even nibbles of a word in one register, the odd ones in another.
  SATCHEL_INLINE void table_words(Int nibbles, Int* words) {
    static constexpr UnsignedTable kTable = unsigned_table(kShape);
    const Int table = V::repeat(kTable.bytes), low = V::words(0x0f0f), byte = V::words(0xff);
    const Int even = V::look_up(table, V::and_(nibbles, low));
    const Int odd = V::look_up(table, V::and_(V::template shift_right<4>(nibbles), low));
    words[0] = V::and_(even, byte);
    words[1] = V::and_(odd, byte);
    words[2] = V::template shift_right<8>(even);
    words[3] = V::template shift_right<8>(odd);
  }

  // For kVectors registers of rows and kTokens tokens: `start` [kTokens], if the type has an
  // offset, and the products of the values that share the scale kScale. Register v has the rows
  // from first_row + v · kRowStep on of the block that lies v · next_group bytes behind `block`.
  template <std::size_t kScale, std::size_t kRowStep, std::size_t kVectors, std::size_t kTokens>
  SATCHEL_INLINE void sums(const std::byte* block, std::size_t first_row, std::size_t next_group,
                           const std::int32_t* x, const std::int32_t* start,
                           Int (&out)[kVectors][kTokens]) {
    constexpr std::size_t kChains = kVectors * kTokens < 4 ? 2 : 1;  // hide the latency
    constexpr std::size_t kQuads = kBlockPairs / 4 / kShape.scales;
    Int sum[kChains][kVectors][kTokens];
    unroll_both<kVectors, kTokens>([&](auto v, auto t) SATCHEL_INLINE_LAMBDA {
      sum[0][v][t] = kShape.offset == 0 ? V::zero() : V::broadcast(start + t);
      if constexpr (kChains == 2) sum[1][v][t] = V::zero();
    });
    for (std::size_t quad = kScale * kQuads; quad < (kScale + 1) * kQuads; ++quad) {
      Int code[kVectors][4];
      unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
        code_words(block + v * next_group, first_row + v * kRowStep, quad, code[v]);
      });
      const std::int32_t* of_quad = x + quad * 4 * kTokens;
      unroll<0, 4>([&](auto i) SATCHEL_INLINE_LAMBDA {
        unroll_both<kTokens, kVectors>([&](auto t, auto v) SATCHEL_INLINE_LAMBDA {
          Int& s = sum[i % kChains][v][t];
          s = V::dot(s, code[v][i], V::broadcast(of_quad + i * kTokens + t));
        });
      });
    }
    unroll_both<kVectors, kTokens>([&](auto v, auto t) SATCHEL_INLINE_LAMBDA {
      out[v][t] = sum[0][v][t];
      if constexpr (kChains == 2) out[v][t] = V::add(out[v][t], sum[1][v][t]);
    });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
