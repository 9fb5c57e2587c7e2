// Rows of codes, halves or floats as operand A of the matrix instruction, and a warp's product with
// them. For .cu files.
//   codes   as in row_order.h: a thread has consecutive pairs of a row, two for each step of 16
//           entries. A pair becomes code - 2^(bits - 1), exactly: its bits are inserted at bit m of
//           a constant whose bit m has weight 1; then constant and middle code are subtracted.
//   source  bit placement: arXiv:2408.11743 (Marlin)
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/attention/operand_places.h"
#include "kernels/cuda/primitives/half_pair.h"
#include "kernels/cuda/primitives/load_matrix.h"
#include "kernels/cuda/primitives/mma.h"

namespace satchel::kernels::cuda {

// (x & mask) | with, in one instruction.
__device__ __forceinline__ std::uint32_t and_or(std::uint32_t x, std::uint32_t mask,
                                                std::uint32_t with) {
#ifdef __CUDA_ARCH__
  std::uint32_t out;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(out) : "r"(x), "r"(mask), "r"(with));
  return out;
#else
  return (x & mask) | with;
#endif
}

// Two codes at bit m of both halves of `word`, less their middle; kM + kBits <= 10.
template <unsigned kBits, unsigned kM>
__device__ __forceinline__ std::uint32_t pair_at(std::uint32_t word) {
  constexpr std::uint32_t kMask = ((1u << kBits) - 1) << kM, kOne = (25 - kM) << 10;
  constexpr std::uint32_t kTaken =
      kOne | 1u << (kBits - 1 + kM);  // the same with the middle's code
  return as_pair(__hsub2(as_halves(and_or(word, kMask | kMask << 16, kOne | kOne << 16)),
                         as_halves(kTaken | kTaken << 16)));
}

// A matrix of codes in shared memory: [n rows][n_entries], the lowest bit of three in its own.
struct CodeRows {
  const std::uint32_t *codes = nullptr, *low = nullptr;
  unsigned n_entries = 0;
};

// Both pairs of a step in one row.
struct TwoPairs {
  std::uint32_t of[2];
};

// kStep of the four that four words' worth of codes hold, at places known here.
template <unsigned kBits, unsigned kStep>
__device__ __forceinline__ TwoPairs pairs_of_step(const std::uint32_t (&words)[4],
                                                  std::uint32_t low) {
  if constexpr (kBits == 2) {
    const std::uint32_t word = kStep < 2 ? words[0] : words[0] >> 8;
    return {{pair_at<2, kStep % 2 * 4>(word), pair_at<2, kStep % 2 * 4 + 2>(word)}};
  } else if constexpr (kBits == 4) {
    const std::uint32_t word = kStep % 2 == 0 ? words[kStep / 2] : words[kStep / 2] >> 8;
    return {{pair_at<4, 0>(word), pair_at<4, 4>(word)}};
  } else if constexpr (kBits == 8) {
    return {{pair_at<8, 0>(__byte_perm(words[kStep], 0, 0x4140)),
             pair_at<8, 0>(__byte_perm(words[kStep], 0, 0x4342))}};
  } else {
    const std::uint32_t above = words[0] >> (4 * kStep), below = low >> (2 * kStep);
    return {{pair_at<3, 0>(and_or(below, 0x00010001u, above << 1 & 0x00060006u)),
             pair_at<3, 0>(and_or(below >> 1, 0x00010001u, above >> 1 & 0x00060006u))}};
  }
}

// The words of four steps whose first pair is a multiple of eight.
template <unsigned kBits>
__device__ __forceinline__ void load_four_steps(const std::uint32_t* row, unsigned first_pair,
                                                std::uint32_t (&words)[4]) {
  if constexpr (kBits == 8) {
    const uint4 four = *reinterpret_cast<const uint4*>(row + first_pair / 2);
    words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
  } else if constexpr (kBits == 4) {
    const uint2 two = *reinterpret_cast<const uint2*>(row + first_pair / 4);
    words[0] = two.x, words[1] = two.y;
  } else {
    words[0] = row[first_pair / 8];
  }
}
// The one word of a step whose first pair is even, moved so that the step is the first of four.
template <unsigned kBits>
__device__ __forceinline__ void load_step(const std::uint32_t* row, unsigned pair,
                                          std::uint32_t (&words)[4]) {
  constexpr unsigned kCodeBits = kBits == 3 ? 2 : kBits, kPairs = 16 / kCodeBits;
  words[0] = kBits == 8 ? row[pair / kPairs] : row[pair / kPairs] >> pair % kPairs * kCodeBits;
}
__device__ __forceinline__ std::uint32_t load_low(const std::uint32_t* row, unsigned pair) {
  return row[pair / 16] >> pair % 16;
}

template <unsigned kStep>
using Step = std::integral_constant<unsigned, kStep>;

// Sums of products: (row thread / 4, column 2 · (thread % 4) + i), and i + 2 the thread's second
// row.
template <unsigned kSets>
struct Products {
  float of[kSets][4];

  // b: this thread's; the sets of a step are kWarp apart.
  __device__ __forceinline__ void add(const std::uint32_t (&a)[4], const uint2* b) {
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      const uint2 both = b[set * kWarp];
      const std::uint32_t pair[2] = {both.x, both.y};
      multiply_add(of[set], a, pair);
    }
  }
  static constexpr unsigned kStepFragments = kSets * kWarp;
};

// Rows row0 and row1 of this thread times the operand, n_steps steps of 16 entries from the first
// on.
template <unsigned kBits, unsigned kSets>
__device__ __forceinline__ void multiply_codes(const CodeRows& rows, unsigned row0, unsigned row1,
                                               unsigned n_steps, const uint2* b,
                                               Products<kSets>& out) {
  constexpr unsigned kCodeBits = kBits == 3 ? 2 : kBits;
  const unsigned t = threadIdx.x % 4, n = rows.n_entries;
  const unsigned words_of_row = (n * kCodeBits + 31) / 32, low_of_row = (n + 31) / 32;
#pragma unroll 1
  for (unsigned first = 0; first < 16 * n_steps; first += kRowBlock) {
    const unsigned of_block = n - first < kRowBlock ? n - first : kRowBlock;
    const unsigned left = n_steps - first / 16;
    const unsigned n_here = of_block / 16 < left ? of_block / 16 : left;
    const unsigned pair0 = t * (of_block / 8);
    const std::uint32_t* codes[2] = {rows.codes + row0 * words_of_row + first * kCodeBits / 32,
                                     rows.codes + row1 * words_of_row + first * kCodeBits / 32};
    const std::uint32_t* low[2] = {nullptr, nullptr};
    if constexpr (kBits == 3) {
      low[0] = rows.low + row0 * low_of_row + first / 32;
      low[1] = rows.low + row1 * low_of_row + first / 32;
    }
    std::uint32_t words[2][4], lows[2] = {};
    const auto step = [&](auto of_four, const uint2* at) {
      constexpr unsigned kStep = decltype(of_four)::value;
      const TwoPairs top = pairs_of_step<kBits, kStep>(words[0], lows[0]);
      const TwoPairs bottom = pairs_of_step<kBits, kStep>(words[1], lows[1]);
      const std::uint32_t a[4] = {top.of[0], bottom.of[0], top.of[1], bottom.of[1]};
      out.add(a, at);
    };
    const uint2* b_here = b + first / 16 * Products<kSets>::kStepFragments;
    unsigned s = 0;
    if (of_block % 64 == 0) {
#pragma unroll 1
      for (; s + 4 <= n_here; s += 4) {
        for (unsigned r = 0; r < 2; ++r) {
          load_four_steps<kBits>(codes[r], pair0 + 2 * s, words[r]);
          if constexpr (kBits == 3) lows[r] = load_low(low[r], pair0 + 2 * s);
        }
        const uint2* at = b_here + s * Products<kSets>::kStepFragments;
        step(Step<0>(), at);
        step(Step<1>(), at + Products<kSets>::kStepFragments);
        step(Step<2>(), at + 2 * Products<kSets>::kStepFragments);
        step(Step<3>(), at + 3 * Products<kSets>::kStepFragments);
      }
    }
#pragma unroll 1
    for (; s < n_here; ++s) {
      for (unsigned r = 0; r < 2; ++r) {
        load_step<kBits>(codes[r], pair0 + 2 * s, words[r]);
        if constexpr (kBits == 3) lows[r] = load_low(low[r], pair0 + 2 * s);
      }
      step(Step<0>(), b_here + s * Products<kSets>::kStepFragments);
    }
  }
}

template <unsigned kSets>
__device__ __forceinline__ void multiply_codes(unsigned bits, const CodeRows& rows, unsigned row0,
                                               unsigned row1, unsigned n_steps, const uint2* b,
                                               Products<kSets>& out) {
  switch (bits) {
    case 2:
      return multiply_codes<2>(rows, row0, row1, n_steps, b, out);
    case 3:
      return multiply_codes<3>(rows, row0, row1, n_steps, b, out);
    case 4:
      return multiply_codes<4>(rows, row0, row1, n_steps, b, out);
    default:
      return multiply_codes<8>(rows, row0, row1, n_steps, b, out);
  }
}

// What was read back may be a little more than fp16 holds.
__device__ __forceinline__ HalfPair split_decoded(float x, float y) {
  constexpr float kMost = 65504;
  return split_pair(fminf(fmaxf(x, -kMost), kMost), fminf(fmaxf(y, -kMost), kMost));
}

// Rows of halves or floats, `stride` bytes apart. As keys, tokens are the rows of A and channels
// its steps; as values the other way round.
struct TokenRows {
  const std::byte* at = nullptr;
  unsigned stride = 0;

  __device__ __forceinline__ const std::byte* half(unsigned token, unsigned channel) const {
    return at + token * stride + channel * 2;
  }
  __device__ __forceinline__ float value(unsigned token, unsigned channel) const {
    return *reinterpret_cast<const float*>(at + token * stride + channel * 4);
  }
};

// 16 rows of A from `first` on, tokens of keys or channels of values, times the operand.
template <bool kIsK, unsigned kSets>
__device__ __forceinline__ void multiply_halves(const TokenRows& rows, unsigned first,
                                                unsigned n_steps, const uint2* b,
                                                Products<kSets>& out) {
  const unsigned thread = threadIdx.x % kWarp, high = thread / 16 * 8;
  const std::byte* row = kIsK ? rows.half(first + thread % 16, high)
                              : rows.half(thread % 8 + high, first + thread / 8 % 2 * 8);
  const unsigned of_step = 16 * (kIsK ? 2 : rows.stride);
#pragma unroll 4
  for (unsigned s = 0; s < n_steps; ++s, b += Products<kSets>::kStepFragments, row += of_step) {
    std::uint32_t a[4];
    load_matrices<!kIsK>(row, a);
    out.add(a, b);
  }
}
// A float is two fp16, one product after the other.
template <bool kIsK, unsigned kSets>
__device__ __forceinline__ void multiply_floats(const TokenRows& rows, unsigned first,
                                                unsigned n_steps, const uint2* b,
                                                Products<kSets>& out) {
  const unsigned g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
  const auto at = [&](unsigned row, unsigned k) {
    return kIsK ? rows.value(first + row, k) : rows.value(k, first + row);
  };
#pragma unroll 1
  for (unsigned s = 0; s < n_steps; ++s, b += Products<kSets>::kStepFragments) {
    std::uint32_t high[4], low[4];
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned row = g + r % 2 * 8, k = 16 * s + 2 * t + r / 2 * 8;
      const HalfPair pair = split_decoded(at(row, k), at(row, k + 1));
      high[r] = pair.high, low[r] = pair.low;
    }
    out.add(high, b);
    out.add(low, b);
  }
}
template <bool kIsK, unsigned kSets>
__device__ __forceinline__ void multiply_rows(Form form, const TokenRows& rows, unsigned first,
                                              unsigned n_steps, const uint2* b,
                                              Products<kSets>& out) {
  if (form == Form::halves) return multiply_halves<kIsK>(rows, first, n_steps, b, out);
  multiply_floats<kIsK>(rows, first, n_steps, b, out);
}

}  // namespace satchel::kernels::cuda
