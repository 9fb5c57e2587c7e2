// Activations to 16-bit integers (layout: matmul_table.h), over the registers `V` of a level.
//   scale   largest magnitude of 32 values / 32767, so that the error is below 1.6e-5 of it; below
//           1e-30 all are 0. A NaN or an infinity makes the scale NaN: it must not vanish
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/matmul_table.h"
#include "kernels/cpu/packed_shape.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// One block of token `t` of a tile of n.
template <class V>
void quantise_block(const float* x, const PackedShape& shape, std::int32_t* pairs,
                    std::int32_t* words, std::size_t n) {
  constexpr std::uint32_t kInfinityBits = 0x7f800000u, kNanBits = 0x7fc00000u;
  constexpr std::uint32_t kTinyBits = __builtin_bit_cast(std::uint32_t, 1e-30f);
  const std::uint32_t bits = V::largest_bits(x);
  const bool finite = bits < kInfinityBits;
  const bool counts = finite && bits >= kTinyBits;
  const float most = __builtin_bit_cast(float, bits);
  const float scale = counts ? most / 32767.0f : 0.0f;
  std::int16_t codes[kBlockValues] = {};
  std::int32_t sums[2] = {};
  if (counts) V::round_block(x, 32767.0f / most, codes, sums);
  for (std::size_t p = 0; p < kBlockPairs; ++p)
    __builtin_memcpy(pairs + p * n, codes + 2 * p, sizeof(std::int32_t));
  words[0] = __builtin_bit_cast(std::int32_t, scale);
  if (shape.scales == 1) sums[0] += sums[1];
  const auto weighted = [&](std::int32_t sum) {
    return __builtin_bit_cast(std::int32_t, scale * static_cast<float>(sum));
  };
  words[n] = shape.has_minimum ? weighted(sums[0]) : -shape.offset * sums[0];
  words[2 * n] = shape.has_minimum ? weighted(sums[1]) : -shape.offset * sums[1];
  if (!finite) words[0] = words[n] = words[2 * n] = static_cast<std::int32_t>(kNanBits);
}

template <class V>
void quantise(const QuantiseJob& job) {
  std::int32_t* pairs = job.out.pairs;
  std::int32_t* words = job.out.words;
  std::size_t n = V::kTile;
  for (std::size_t done = 0; done < job.n_tokens; done += n) {
    while (n > job.n_tokens - done) n /= 2;
    for (std::size_t t = 0; t < n; ++t) {
      const float* x = job.x + (done + t) * job.n_blocks * kBlockValues;
      for (std::size_t b = 0; b < job.n_blocks; ++b)
        quantise_block<V>(x + b * kBlockValues, job.shape, pairs + b * kBlockPairs * n + t,
                          words + b * kBlockWords * n + t, n);
    }
    pairs += job.n_blocks * kBlockPairs * n;
    words += job.n_blocks * kBlockWords * n;
  }
}

}  // namespace
}  // namespace satchel::kernels::cpu
