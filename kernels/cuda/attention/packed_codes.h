// Codes of packed pages as operand A of the byte matrix instruction, from device memory straight
// into the registers of the threads that multiply them. For .cu files.
//   rows    16 of a tile: a thread has row g = thread / 4 and row g + 8, and of each the share of
//           thread % 4, whose codes lie together (row_order.h)
//   steps   32 entries each: eight codes a row and thread, a byte each, in the order that masks
//           leave; the other operand is in the same order (packed_columns.h)
//   source  the storage of codes in the order of a matrix instruction's fragments:
//           arXiv:2408.11743 (Marlin), arXiv:2503.18773 (BitDecoding)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/contract/row_order.h"
#include "kernels/cuda/attention/code_operands.h"
#include "kernels/cuda/primitives/byte_mma.h"
#include "kernels/cuda/primitives/cache_hints.h"

namespace satchel::kernels::cuda {

template <unsigned kWords>
__device__ __forceinline__ void load_words(const std::byte* at, std::uint32_t (&words)[kWords]) {
  if constexpr (kWords % 4 == 0) {
#pragma unroll
    for (unsigned i = 0; i < kWords / 4; ++i) {
      const uint4 four = load<Reads::once>(reinterpret_cast<const uint4*>(at) + i);
      words[4 * i] = four.x, words[4 * i + 1] = four.y;
      words[4 * i + 2] = four.z, words[4 * i + 3] = four.w;
    }
  } else if constexpr (kWords == 2) {
    const uint2 two = load<Reads::once>(reinterpret_cast<const uint2*>(at));
    words[0] = two.x, words[1] = two.y;
  } else {
    static_assert(kWords == 1);
    words[0] = load<Reads::once>(reinterpret_cast<const std::uint32_t*>(at));
  }
}

// A thread's share of a row of kSteps · 32 entries.
template <unsigned kBits, unsigned kSteps>
struct ShareCodes {
  static_assert(kBits != 3 || kSteps == 4);
  static constexpr unsigned kCodeBits = kBits == 3 ? 2 : kBits;
  static constexpr unsigned kWords = kSteps * 8 * kCodeBits / 32;

  std::uint32_t words[kWords], low[1];

  __device__ __forceinline__ void load(const std::byte* codes, const std::byte* low_codes) {
    load_words(codes, words);
    if constexpr (kBits == 3) load_words(low_codes, low);
  }
  // The first four of a step's codes, or the second.
  __device__ __forceinline__ std::uint32_t four(unsigned step, unsigned second) const {
    if constexpr (kBits == 8) {
      return words[2 * step + second];
    } else if constexpr (kBits == 4) {
      return words[step] >> 4 * second & 0x0f0f0f0fu;
    } else if constexpr (kBits == 2) {
      return words[step / 2] >> (step % 2 * 4 + 2 * second) & 0x03030303u;
    } else {
      const unsigned i = 2 * step + second;
      const std::uint32_t from = __byte_perm(words[0], words[1], i < 4 ? 0x6240 : 0x7351);
      const std::uint32_t above = i % 4 == 0 ? from << 1 : from >> (i % 4 * 2 - 1);
      return and_or(low[0] >> i, 0x01010101u, above & 0x06060606u);
    }
  }
};

// The codes of K or V in a page: [n rows][kEntries].
struct PageCodes {
  const std::byte *codes, *low;
};

// A tile of 16 rows, and its sums of products.
template <unsigned kBits, unsigned kEntries>
struct TileCodes {
  static constexpr unsigned kBlocks = kEntries > kRowBlock ? kEntries / kRowBlock : 1;
  static constexpr unsigned kSteps = kEntries >= kRowBlock ? 4 : 2;  // of a block
  using Share = ShareCodes<kBits, kSteps>;
  static constexpr unsigned kRowBytes = kEntries * Share::kCodeBits / 8, kLowBytes = kEntries / 8;

  Share of[2][kBlocks];

  __device__ __forceinline__ void load(const PageCodes& page, unsigned tile) {
    const unsigned thread = threadIdx.x % kWarp, share = thread % 4;
#pragma unroll
    for (unsigned r = 0; r < 2; ++r) {
      const unsigned row = tile * 16 + thread / 4 + 8 * r;
      const std::byte* codes = page.codes + row * kRowBytes + share * Share::kWords * 4;
      const std::byte* low = page.low + row * kLowBytes + share * 4;
#pragma unroll
      for (unsigned b = 0; b < kBlocks; ++b)
        of[r][b].load(codes + b * 4 * Share::kWords * 4, low + b * 16);
    }
  }
  template <unsigned kSets>
  __device__ __forceinline__ void multiply(const uint2 (&b)[kSets][kBlocks * kSteps],
                                           int (&sums)[kSets][4]) const {
#pragma unroll
    for (unsigned block = 0; block < kBlocks; ++block)
#pragma unroll
      for (unsigned s = 0; s < kSteps; ++s) {
        const std::uint32_t a[4] = {of[0][block].four(s, 0), of[1][block].four(s, 0),
                                    of[0][block].four(s, 1), of[1][block].four(s, 1)};
#pragma unroll
        for (unsigned set = 0; set < kSets; ++set)
          multiply_add(sums[set], a, b[set][block * kSteps + s]);
      }
  }
};

// The tiles of a page in order, two of them on their way. They stay in their registers: a move
// would wait for what is still to come.
template <unsigned kBits, unsigned kEntries, unsigned kTiles>
class TilesAhead {
 public:
  using Tile = TileCodes<kBits, kEntries>;

  __device__ __forceinline__ explicit TilesAhead(const PageCodes& page) : page_(page) {
    for (unsigned i = 0; i < kTilesAhead; ++i) tiles_[i].load(page_, i);
  }
  // use(tile, its number) for the next n, a multiple of kTilesAhead.
  template <class Use>
  __device__ __forceinline__ void take(unsigned n, const Use& use) {
#pragma unroll 1
    for (const unsigned end = next_ + n; next_ < end; next_ += kTilesAhead)
#pragma unroll
      for (unsigned i = 0; i < kTilesAhead; ++i) {
        use(tiles_[i], next_ + i);
        if (next_ + kTilesAhead < kTiles) tiles_[i].load(page_, next_ + kTilesAhead + i);
      }
  }

 private:
  PageCodes page_;
  unsigned next_ = 0;
  Tile tiles_[kTilesAhead];
};

// Mixed-bit keys: a thread has four channels, a quad, of sixteen tokens: 4g + i + 32k, whose codes
// are four words of each part (mixed_bit.h). Full pages only.
class QuadWords {
 public:
  // All is asked for before any of it is used. quad: LanePlan::sorted_quads
  __device__ __forceinline__ void load(const std::byte* codes, std::uint32_t quad) {
    quad_ = quad;
    words_ = reinterpret_cast<const std::uint32_t*>(codes) + (quad >> 12);
    const unsigned g = threadIdx.x % kWarp / 4, n_fours = (quad & 8) != 0 ? 2 : (quad & 4) / 4;
    const std::uint32_t* at = words_ + n_fours * (kPageTokens / 2);
    if (n_fours != 0) load_four(words_, g, four_);
    if ((quad & 2) != 0) {
      load_words(reinterpret_cast<const std::byte*>(at + 4 * g), two_);
      at += kPageTokens / 4;
    }
    if ((quad & 1) != 0) load_words(reinterpret_cast<const std::byte*>(at + 4 * (g % 4)), one_);
  }
  // out[i][k] of i = first and the next: a byte a channel, in the order 0, 2, 1, 3.
  __device__ __forceinline__ void codes(unsigned first, std::uint32_t (&out)[2][4]) const {
    const unsigned g = threadIdx.x % kWarp / 4;
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) out[i / 4][i % 4] = 0;
    if ((quad_ & 12) != 0) append_four(four_, first, out);
    if ((quad_ & 8) != 0) {
      std::uint32_t four[2][4];
      load_four(words_ + kPageTokens / 2, g, four);
      append_four(four, first, out);
    }
    if ((quad_ & 2) != 0) append<2>(two_, 0, first, out);
    if ((quad_ & 1) != 0) append<1>(one_, g / 4, first, out);
  }

 private:
  __device__ __forceinline__ static void load_four(const std::uint32_t* at, unsigned g,
                                                   std::uint32_t (&four)[2][4]) {
    load_words(reinterpret_cast<const std::byte*>(at + 4 * g), four[0]);
    load_words(reinterpret_cast<const std::byte*>(at + 32 + 4 * g), four[1]);
  }
  __device__ __forceinline__ static void append_four(const std::uint32_t (&four)[2][4],
                                                     unsigned first, std::uint32_t (&out)[2][4]) {
#pragma unroll
    for (unsigned i = 0; i < 2; ++i)
#pragma unroll
      for (unsigned k = 0; k < 4; ++k)
        out[i][k] = and_or(four[k % 2][first + i] >> k / 2 * 4, 0x0f0f0f0fu, out[i][k] << 4);
  }
  template <unsigned kBits>
  __device__ __forceinline__ static void append(const std::uint32_t (&words)[4], unsigned shift,
                                                unsigned first, std::uint32_t (&out)[2][4]) {
    constexpr std::uint32_t kMask = kBits == 2 ? 0x03030303u : 0x01010101u;
#pragma unroll
    for (unsigned i = 0; i < 2; ++i)
#pragma unroll
      for (unsigned k = 0; k < 4; ++k)
        out[i][k] = and_or(words[first + i] >> (shift + 2 * k), kMask, out[i][k] << kBits);
  }

  std::uint32_t quad_, four_[2][4], two_[4], one_[4];
  const std::uint32_t* words_;
};

}  // namespace satchel::kernels::cuda
