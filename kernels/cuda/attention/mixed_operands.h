// Mixed-bit keys as operand A of the matrix instruction, and a warp's product with them. For .cu
// files.
//   steps   a step is 16 channels, four quads; thread t of four has quad t, whose channels are
//           entries 2t, 2t + 1, 2t + 8 and 2t + 9 of the instruction. The other operand is permuted
//           alike (row_operands.h).
//   codes   the parts of a quad give a byte a channel, in the order 0, 2, 1, 3, so that every other
//           byte of a word is a pair. Inserted into the mantissa of 1024 and less 1024 and the
//           middle, they are exact.
//   source  kernels/contract/mixed_bit.h; bit placement: arXiv:2408.11743 (Marlin)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/attention/code_operands.h"
#include "kernels/cuda/attention/row_operands.h"

namespace satchel::kernels::cuda {

// The keys of a page in shared memory (operand_places.h).
struct MixedKeys {
  const std::uint32_t *words, *quads;
  unsigned capacity;

  __device__ __forceinline__ MixedKeys(const std::byte* part, unsigned head_dim, unsigned of_page)
      : words(reinterpret_cast<const std::uint32_t*>(part)),
        quads(reinterpret_cast<const std::uint32_t*>(part + mixed_quads_at(head_dim))),
        capacity(of_page) {}
};

// Where a token's codes are in parts of one width.
struct PlaceInPart {
  unsigned word, shift;
};
template <unsigned kBits>
__device__ __forceinline__ PlaceInPart place_in_part(unsigned capacity, unsigned token) {
  if (capacity == kPageTokens) {  // no division
    constexpr unsigned kWords = kPageTokens * kBits / 8;
    return {token % kWords, token / kWords * kBits};
  }
  const unsigned n_words = capacity * kBits / 8;
  return {token % n_words, token / n_words * kBits};
}

// The places of the two tokens of a thread.
template <unsigned kBits>
struct Part {
  PlaceInPart of[2];
  unsigned n_words;

  __device__ __forceinline__ Part(unsigned capacity, unsigned token)
      : of{place_in_part<kBits>(capacity, token), place_in_part<kBits>(capacity, token + 8)},
        n_words(capacity * kBits / 8) {}
  // Appends the part that begins at `words`.
  __device__ __forceinline__ const std::uint32_t* append(const std::uint32_t* words,
                                                         std::uint32_t (&codes)[2]) const {
    constexpr std::uint32_t kMask = ((1u << kBits) - 1) * 0x01010101u;
    for (unsigned r = 0; r < 2; ++r)
      codes[r] = and_or(words[of[r].word] >> of[r].shift, kMask, codes[r] << kBits);
    return words + n_words;
  }
};

// Tokens token0 and token0 + 8 of this thread times the operand.
template <unsigned kSets>
__device__ __forceinline__ void multiply_mixed(const MixedKeys& keys, unsigned token0,
                                               unsigned n_steps, const uint2* b,
                                               Products<kSets>& out) {
  const Part<4> four(keys.capacity, token0);
  const Part<2> two(keys.capacity, token0);
  const Part<1> one(keys.capacity, token0);
  for (unsigned s = 0; s < n_steps; ++s, b += Products<kSets>::kStepFragments) {
    const std::uint32_t quad = keys.quads[4 * s + threadIdx.x % 4];
    const std::uint32_t* words = keys.words + (quad >> 4);
    std::uint32_t codes[2] = {};
    if ((quad & 12) != 0) words = four.append(words, codes);
    if ((quad & 8) != 0) words = four.append(words, codes);
    if ((quad & 2) != 0) words = two.append(words, codes);
    if ((quad & 1) != 0) one.append(words, codes);
    __syncwarp();
    constexpr std::uint32_t kOne = 0x64006400u, kBytes = 0x00ff00ffu;
    const __half2 less = as_halves(kOne + middle_of_quad(quad) * 0x00010001u);
    std::uint32_t a[4];
    for (unsigned i = 0; i < 4; ++i)
      a[i] = as_pair(__hsub2(as_halves(and_or(codes[i % 2] >> i / 2 * 8, kBytes, kOne)), less));
    out.add(a, b);
  }
}

}  // namespace satchel::kernels::cuda
