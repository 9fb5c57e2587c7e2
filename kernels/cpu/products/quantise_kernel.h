// Quantises activations to 16 or 8 bits (layout: matmul_table.h), for the registers `V` of a level.
//   scale   largest magnitude of 32 values / 32767 (8 bits: 127), so that the error is below 1.6e-5
//           (4e-3) of it; below 1e-30 all are 0. NaN or infinity makes the scale NaN, so that it is
//           not lost.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {
namespace {

// Codes of 8 bits as words of four, in the order of matmul_table.h; every level has AVX2.
SATCHEL_INLINE void words_of_bytes(const std::int16_t* codes, std::int32_t* words) {
  const auto* at = reinterpret_cast<const __m256i*>(codes);
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
  const __m256i bytes = _mm256_packs_epi16(_mm256_load_si256(at), _mm256_load_si256(at + 1));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words),
                      _mm256_shuffle_epi8(_mm256_permute4x64_epi64(bytes, 0xd8), order));
}

// Of 32 codes as words of two, or bytes of four.
template <bool kAsBytes>
inline constexpr std::size_t kCodeWords = kAsBytes ? kBlockValues / 4 : kBlockPairs;

template <bool kAsBytes>
SATCHEL_INLINE void put_codes(const std::int16_t* codes, std::int32_t* to, std::size_t n) {
  std::int32_t words[kCodeWords<kAsBytes>];
  if constexpr (kAsBytes)
    words_of_bytes(codes, words);
  else
    __builtin_memcpy(words, codes, sizeof words);
  for (std::size_t i = 0; i < kCodeWords<kAsBytes>; ++i) to[i * n] = words[i];
}

// One block of token `t` of a tile of n.
template <class V, bool kAsBytes>
void quantise_block(const float* x, const QuantiseJob& job, std::int32_t* to, std::int32_t* words,
                    std::size_t n) {
  constexpr std::uint32_t kInfinityBits = 0x7f800000u, kNanBits = 0x7fc00000u;
  constexpr std::uint32_t kTinyBits = __builtin_bit_cast(std::uint32_t, 1e-30f);
  const std::uint32_t bits = V::largest_bits(x);
  const bool finite = bits < kInfinityBits;
  const bool counts = finite && bits >= kTinyBits;
  const float most = __builtin_bit_cast(float, bits);
  const auto most_code = static_cast<float>(job.most);
  const float scale = counts ? most / most_code : 0.0f;
  alignas(32) std::int16_t codes[kBlockValues] = {};
  std::int32_t sums[2] = {};
  if (counts) V::round_block(x, most_code / most, codes, sums);
  put_codes<kAsBytes>(codes, to, n);
  words[0] = __builtin_bit_cast(std::int32_t, scale);
  const QuantFormat& shape = job.shape;
  const int offset = kAsBytes && shape.code_bits == 8 ? kByteOffset : shape.offset;
  if (shape.scales == 1) sums[0] += sums[1];
  const auto weighted = [&](std::int32_t sum) {
    return __builtin_bit_cast(std::int32_t, scale * static_cast<float>(sum));
  };
  words[n] = shape.has_minimum ? weighted(sums[0]) : -offset * sums[0];
  words[2 * n] = shape.has_minimum ? weighted(sums[1]) : -offset * sums[1];
  if (!finite) words[0] = words[n] = words[2 * n] = static_cast<std::int32_t>(kNanBits);
}

template <class V, bool kAsBytes>
void quantise_as(const QuantiseJob& job) {
  std::int32_t* codes = job.out.codes;
  std::int32_t* words = job.out.words;
  std::size_t n = V::kTile;
  for (std::size_t done = 0; done < job.n_tokens; done += n) {
    while (n > job.n_tokens - done) n /= 2;
    for (std::size_t t = 0; t < n; ++t) {
      const float* x = job.x + (done + t) * job.n_blocks * kBlockValues;
      for (std::size_t b = 0; b < job.n_blocks; ++b)
        quantise_block<V, kAsBytes>(x + b * kBlockValues, job,
                                    codes + b * kCodeWords<kAsBytes> * n + t,
                                    words + b * kBlockWords * n + t, n);
    }
    codes += job.n_blocks * kCodeWords<kAsBytes> * n;
    words += job.n_blocks * kBlockWords * n;
  }
}

template <class V>
void quantise(const QuantiseJob& job) {
  job.as_bytes ? quantise_as<V, true>(job) : quantise_as<V, false>(job);
}

}  // namespace
}  // namespace satchel::kernels::cpu
