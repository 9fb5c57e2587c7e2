// Converts a thread's codes (tile_layout.h) to operand A of the matrix instruction: unsigned bytes,
// by a shift and a mask for four of them. Offsets are subtracted after the product, where sums are
// exact integers (group_sum.h). For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/cache_hints.h"
#include "kernels/cuda/products/thread_planes.h"

namespace satchel::kernels::cuda {

template <unsigned kWords>
struct ThreadWords {
  std::uint32_t at[kWords == 0 ? 1 : kWords];
};

// kWords words of this thread, in the widest loads that they allow.
template <Reads kReads, unsigned kWords>
__device__ __forceinline__ ThreadWords<kWords> load_words(const std::byte* from) {
  ThreadWords<kWords> out = {};
  if constexpr (kWords >= 4) {
    for (unsigned i = 0; i < kWords; i += 4) {
      const uint4 four = load<kReads>(reinterpret_cast<const uint4*>(from + i * 4));
      out.at[i] = four.x, out.at[i + 1] = four.y, out.at[i + 2] = four.z, out.at[i + 3] = four.w;
    }
  } else if constexpr (kWords == 2) {
    const uint2 two = load<kReads>(reinterpret_cast<const uint2*>(from));
    out.at[0] = two.x, out.at[1] = two.y;
  } else if constexpr (kWords == 1) {
    out.at[0] = load<kReads>(reinterpret_cast<const unsigned*>(from));
  }
  return out;
}

// The bits `pos` … of all four bytes, moved to bit `to`; mask: of one byte, four times.
__device__ __forceinline__ std::uint32_t move_bits(std::uint32_t word, unsigned pos, unsigned to,
                                                   std::uint32_t mask) {
  return (pos > to ? word >> (pos - to) : word << (to - pos)) & mask << to;
}

template <WeightType kType>
struct Codes {
  static constexpr TileShape kShape = tile_shape(kType);
  static constexpr unsigned kLow = kShape.low_bits, kHigh = kShape.high_bits;
  ThreadWords<kLow> low;
  ThreadWords<kHigh> high;

  template <Reads kReads>
  __device__ __forceinline__ void load(const ThreadPlanes<kType>& from) {
    low = load_words<kReads, kLow>(from.low);
    high = load_words<kReads, kHigh>(from.high);
  }

  // Operand A of a step.
  __device__ __forceinline__ void step(unsigned s, std::uint32_t (&a)[4]) const {
    if constexpr (kShape.has_table) {
      for (unsigned i = 0; i < 2; ++i) look_up(low.at[2 * s + i], a[2 * i], a[2 * i + 1]);
    } else {
      for (unsigned r = 0; r < 4; ++r) a[r] = four(s, r);
    }
  }

 private:
  static constexpr std::uint32_t mask_of(unsigned bits) { return ((1u << bits) - 1) * 0x01010101u; }

  __device__ __forceinline__ std::uint32_t four(unsigned s, unsigned r) const {
    std::uint32_t codes;
    if constexpr (kLow == 2) {
      codes = move_bits(low.at[s], 2 * r, 0, mask_of(2));
    } else if constexpr (kLow == 4) {
      codes = move_bits(low.at[2 * s + r / 2], 4 * (r % 2), 0, mask_of(4));
    } else {
      codes = low.at[4 * s + r];
    }
    if constexpr (kHigh == 1) codes |= move_bits(high.at[0], 4 * s + r, kLow, mask_of(1));
    if constexpr (kHigh == 2) codes |= move_bits(high.at[s], 2 * r, kLow, mask_of(2));
    return codes;
  }

  // Eight codes of four bits: what the table has for them, as bytes; the even ones, the odd ones.
  __device__ __forceinline__ void look_up(std::uint32_t word, std::uint32_t& even,
                                          std::uint32_t& odd) const {
    const std::uint32_t first = table_bytes(word), second = table_bytes(word >> 16);
    even = __byte_perm(first, second, 0x6420u);
    odd = __byte_perm(first, second, 0x7531u);
  }
  __device__ static __forceinline__ std::uint32_t table_bytes(std::uint32_t nibbles) {
    const std::uint32_t below = __byte_perm(table_word(0), table_word(1), nibbles);
    const std::uint32_t above = __byte_perm(table_word(2), table_word(3), nibbles);
    return __byte_perm(below, above, 0x3210u | (nibbles >> 3 & 0x1111u) << 2);
  }
  __device__ static constexpr std::uint32_t table_word(unsigned i) {
    constexpr UnsignedTable kTable = tile_table(kType);
    return kTable.bytes[4 * i] | kTable.bytes[4 * i + 1] << 8 | kTable.bytes[4 * i + 2] << 16 |
           static_cast<std::uint32_t>(kTable.bytes[4 * i + 3]) << 24;
  }
};

}  // namespace satchel::kernels::cuda
