// Codes as a lane finds them (tile_layout.h), made into pairs of fp16 that hold code - offset
// exactly: the bits of a code are put into the mantissa of a power of two, which then is subtracted
// with the offset. For .cu files.
//   source  bit placement as IST-DASLab's Marlin (arXiv:2408.11743) does it; there offsets leave
//           with the scales, here before the product, so that sums do not lose bits to them
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/cuda/tile_layout.h"

namespace satchel::kernels::cuda {

template <unsigned kWords>
struct LaneWords {
  std::uint32_t at[kWords == 0 ? 1 : kWords];
};

// kWords words of this lane, in the widest loads that they allow.
template <unsigned kWords>
__device__ __forceinline__ LaneWords<kWords> load_lane(const std::byte* plane, unsigned chunk,
                                                       unsigned lane) {
  LaneWords<kWords> out = {};
  const std::byte* from = plane + (std::size_t{chunk} * kLanes + lane) * kWords * 4;
  if constexpr (kWords >= 4) {
    for (unsigned i = 0; i < kWords; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(from + i * 4);
      out.at[i] = four.x, out.at[i + 1] = four.y, out.at[i + 2] = four.z, out.at[i + 3] = four.w;
    }
  } else if constexpr (kWords == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(from);
    out.at[0] = two.x, out.at[1] = two.y;
  } else if constexpr (kWords == 1) {
    out.at[0] = *reinterpret_cast<const std::uint32_t*>(from);
  }
  return out;
}

// bits `pos` … of both halves of a word, moved to bit `to`.
__device__ __forceinline__ std::uint32_t move_bits(std::uint32_t word, unsigned pos, unsigned to,
                                                   std::uint32_t mask) {
  return (pos > to ? word >> (pos - to) : word << (to - pos)) & (mask << to | mask << (16 + to));
}

template <WeightType kType>
struct Codes {
  static constexpr TileShape kShape = tile_shape(kType);
  static constexpr unsigned kLow = kShape.low_bits, kHigh = kShape.high_bits;
  LaneWords<kLow> low;
  LaneWords<kHigh> high;

  __device__ __forceinline__ void load(const std::byte* tile, const TilePlan& plan, unsigned chunk,
                                       unsigned lane) {
    low = load_lane<kLow>(tile + plan.low_at, chunk, lane);
    high = load_lane<kHigh>(tile + plan.high_at, chunk, lane);
  }

  // Operand A of a step.
  __device__ __forceinline__ void step(unsigned s, std::uint32_t (&a)[4]) const {
    if constexpr (kShape.has_table) {
      look_up(low.at[s], a);
    } else {
      for (unsigned r = 0; r < 4; ++r) a[r] = pair(s, r);
    }
  }

 private:
  static constexpr unsigned kHighMask = (1u << kHigh) - 1;

  // Two codes at bit `to` of the constant whose bit `to` weighs 1, less that constant and the
  // offset.
  __device__ __forceinline__ std::uint32_t pair(unsigned s, unsigned r) const {
    unsigned to = 0;
    std::uint32_t bits;
    if constexpr (kLow == 2) {
      bits = move_bits(low.at[s / 2], 8 * (s % 2) + 2 * r, 0, 3);
    } else if constexpr (kLow == 4) {
      to = r % 2 * 4;
      bits = move_bits(low.at[s], 4 * r, to, 15);
    } else {
      bits = move_bits(low.at[2 * s + r / 2], 8 * (r % 2), 0, 255);
    }
    if constexpr (kHigh == 1) bits |= move_bits(high.at[0], 4 * s + r, to + kLow, kHighMask);
    if constexpr (kHigh == 2)
      bits |= move_bits(high.at[s / 2], 8 * (s % 2) + 2 * r, to + kLow, kHighMask);
    return to == 0 ? without<1024 + kShape.offset>(bits | 0x64006400u)
                   : without<64 + kShape.offset>(bits | 0x54005400u);
  }

  template <int kTaken>
  __device__ static __forceinline__ std::uint32_t without(std::uint32_t pair) {
    const __half taken = __float2half_rn(static_cast<float>(kTaken));
    const __half2 halves = {__ushort_as_half(static_cast<unsigned short>(pair)),
                            __ushort_as_half(static_cast<unsigned short>(pair >> 16))};
    const __half2 out = __hsub2(halves, {taken, taken});
    return __half_as_ushort(out.x) | static_cast<std::uint32_t>(__half_as_ushort(out.y)) << 16;
  }

  // Eight codes of four bits: what the table has for them, as bytes, then as operand A.
  __device__ __forceinline__ void look_up(std::uint32_t word, std::uint32_t (&a)[4]) const {
    const std::uint32_t first = table_bytes(word), second = table_bytes(word >> 16);
    for (unsigned r = 0; r < 4; ++r) {
      const std::uint32_t bytes = __byte_perm(first, second, r | (4 + r) << 8) & 0x00ff00ffu;
      a[r] = without<1024 + kShape.offset>(bytes | 0x64006400u);
    }
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
