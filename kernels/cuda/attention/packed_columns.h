// The operand that multiplies the codes of packed pages (packed_codes.h): rows of queries or
// weights times a group's scales, as integers of 16 bits in two columns of bytes. For .cu files.
//   threads  thread l of a warp makes 16 entries of row l / 8 of each set at a time: piece l % 8
//   columns  column 2r has the upper bytes of row r, 2r + 1 the lower, so that a thread of the
//            product has both of one row
//   numbers  a row's largest entry becomes 127 · 256, so entries err by 2^-16 of it. Sums are exact
//            integers; what codes are above their middle is what errs, since the middle's share of
//            the sum is taken off as an integer and added back in fp32
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kPiece = 16;  // entries

// Which entries of a piece are the bytes of a word, as ShareCodes::four() leaves them.
enum class PieceOrder {
  neighbours,  // 8 bits: 0 1 2 3, 4 5 6 7 …; quads of mixed-bit keys
  of_eight,    // 4 bits: 0 4 1 5, 2 6 3 7, then likewise from 8 on
  of_sixteen,  // 2 and 3 bits: 0 8 1 9, 2 10 3 11 …
};
constexpr PieceOrder piece_order(unsigned bits) {
  return bits == 8   ? PieceOrder::neighbours
         : bits == 4 ? PieceOrder::of_eight
                     : PieceOrder::of_sixteen;
}
template <PieceOrder kOrder>
constexpr unsigned entry_of_byte(unsigned word, unsigned byte) {
  if (kOrder == PieceOrder::neighbours) return 4 * word + byte;
  if (kOrder == PieceOrder::of_eight) return word / 2 * 8 + word % 2 * 2 + byte % 2 * 4 + byte / 2;
  return 2 * word + byte % 2 * 8 + byte / 2;
}

// Where half `half` of a share of 32 entries (or a whole share of 16) has its entry `e`. With three
// bits a piece is eight of both halves, whose lowest bits lie in one word.
template <unsigned kBits>
constexpr unsigned entry_of_piece(unsigned half, unsigned e) {
  if (kBits == 3) return 8 * half + e % 8 + e / 8 * 16;
  return 16 * half + e;
}

// What sums of a row are times, what is added, and what the sum of the lower bytes begins with.
struct RowFactors {
  float step, offset;
  int below;

  __device__ __forceinline__ RowFactors of_thread(unsigned thread) const {
    const int from = static_cast<int>(thread);
    return {__shfl_sync(~0u, step, from), __shfl_sync(~0u, offset, from),
            __shfl_sync(~0u, below, from)};
  }
  __device__ __forceinline__ void begin(int (&sums)[4]) const {
    sums[0] = sums[2] = 0;
    sums[1] = sums[3] = below;
  }
  __device__ __forceinline__ float value(int upper, int lower) const {
    return fmaf(static_cast<float>(upper * 256 + lower), step, offset);
  }
};

// Over the eight threads of a row.
template <class T>
__device__ __forceinline__ T row_sum(T x) {
  for (int distance = 1; distance < 8; distance *= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}
__device__ __forceinline__ float row_max(float x) {
  for (int distance = 1; distance < 8; distance *= 2)
    x = fmaxf(x, __shfl_xor_sync(~0u, x, distance));
  return x;
}

// 16 halves; `at` and `further` lie on 16 bytes.
struct PieceHalves {
  std::uint32_t pairs[8];

  __device__ __forceinline__ void load(const std::byte* at, const std::byte* further) {
    const uint4 a = *reinterpret_cast<const uint4*>(at);
    const uint4 b = *reinterpret_cast<const uint4*>(further);
    pairs[0] = a.x, pairs[1] = a.y, pairs[2] = a.z, pairs[3] = a.w;
    pairs[4] = b.x, pairs[5] = b.y, pairs[6] = b.z, pairs[7] = b.w;
  }
  __device__ __forceinline__ float2 two(unsigned pair) const {
    const __half2 halves = as_halves(pairs[pair]);
    return {__half2float(halves.x), __half2float(halves.y)};
  }
  // Four channels as quad `i` of the piece, in the order of a quad's codes: 0, 2, 1, 3.
  __device__ __forceinline__ void load_quad(unsigned i, const std::byte* at) {
    const uint2 two = *reinterpret_cast<const uint2*>(at);
    pairs[2 * i] = __byte_perm(two.x, two.y, 0x5410);
    pairs[2 * i + 1] = __byte_perm(two.x, two.y, 0x7632);
  }
};

// A piece of a row on its way to be integers.
struct Piece {
  float x[kPiece];

  // x · scale; returns Σ x · (zero + middle · scale), or half a step where there are no zeros.
  //   middles  of each four entries
  __device__ __forceinline__ float scale(const PieceHalves& scales, const PieceHalves& zeros,
                                         bool has_zeros, const int (&middles)[kPiece / 4]) {
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kPiece / 2; ++i) {
      const float2 s = scales.two(i);
      float2 z = {s.x * 0.5f, s.y * 0.5f};
      if (has_zeros) {
        const auto middle = static_cast<float>(middles[i / 2]);
        z = zeros.two(i);
        z = {fmaf(s.x, middle, z.x), fmaf(s.y, middle, z.y)};
      }
      sum = fmaf(x[2 * i], z.x, fmaf(x[2 * i + 1], z.y, sum));
      x[2 * i] *= s.x;
      x[2 * i + 1] *= s.y;
    }
    return sum;
  }
  __device__ __forceinline__ float most() const {
    float out = 0;
#pragma unroll
    for (float each : x) out = fmaxf(out, fabsf(each));
    return out;
  }
};

// A row's factor from values to integers and back.
struct IntegerScale {
  float inverse, step;

  __device__ __forceinline__ explicit IntegerScale(float most) {
    constexpr float kMost = 127 * 256, kLeast = 1e-30f;  // chosen: divisors stay finite
    inverse = most > kLeast ? __fdividef(kMost, most) : 0.0f;
    step = most > kLeast ? most * (1 / kMost) : 0.0f;
  }
};

// A piece's integers, as the two words of bytes for each four entries.
struct PieceIntegers {
  std::uint32_t x[kPiece];  // the lowest 16 bits: integer + 128

  __device__ __forceinline__ PieceIntegers(const Piece& piece, float inverse) {
    // The integer is the end of the mantissa.
    constexpr float kAbove = 12582912.0f + 128;  // 1.5 · 2^23
#pragma unroll
    for (unsigned i = 0; i < kPiece; ++i) x[i] = __float_as_uint(fmaf(piece.x[i], inverse, kAbove));
  }
  // Σ of the integers of entries first … first + n.
  __device__ __forceinline__ int sum(unsigned first, unsigned n) const {
    constexpr std::uint32_t kOfZero = 0x4b400080u;
    std::uint32_t out = 0u - n * kOfZero;
#pragma unroll
    for (unsigned i = 0; i < n; ++i) out += x[first + i];
    return static_cast<int>(out);
  }
  // Four words of upper bytes and four of lower; both lie on 16 bytes.
  template <PieceOrder kOrder>
  __device__ __forceinline__ void put(std::uint32_t* upper, std::uint32_t* lower) const {
    uint4 above, below;
    std::uint32_t* const words[2][4] = {{&above.x, &above.y, &above.z, &above.w},
                                        {&below.x, &below.y, &below.z, &below.w}};
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      const auto byte = [&](unsigned i) { return x[entry_of_byte<kOrder>(w, i)]; };
      const std::uint32_t front = __byte_perm(byte(0), byte(1), 0x5140);
      const std::uint32_t back = __byte_perm(byte(2), byte(3), 0x5140);
      *words[0][w] = __byte_perm(front, back, 0x7632);
      *words[1][w] = __byte_perm(front, back, 0x5410) ^ 0x80808080u;
    }
    *reinterpret_cast<uint4*>(upper) = above;
    *reinterpret_cast<uint4*>(lower) = below;
  }
};

}  // namespace satchel::kernels::cuda
