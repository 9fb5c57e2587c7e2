// Mixed-bit keys on a card (kernels/contract/mixed_bit.h): each function does the roundings of
// kernels/reference/codec_mixed_bit.cpp, so that pages have the same bytes. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/contract/mixed_bit.h"
#include "kernels/cuda/pages/page_rows.h"
#include "kernels/cuda/primitives/half.h"
#include "kernels/reference/codec_mixed_bit.h"

namespace satchel::kernels::cuda {

__device__ __forceinline__ unsigned bits_of_quad(const PageOperand& keys, unsigned quad) {
  return keys.quad_bits[quad / 8] >> quad % 8 * 4 & 15;
}
// Where the quad's parts begin in the plane: each bit of the quads before takes capacity / 2 bytes.
__device__ __forceinline__ unsigned quad_at(const PagePlan& plan, unsigned quad) {
  unsigned bits = 0;
  for (unsigned i = 0; i <= quad / 8; ++i) {
    std::uint32_t eight = plan.k.quad_bits[i];
    if (i == quad / 8) eight &= (1u << quad % 8 * 4) - 1;
    bits += ((eight & 0x0f0f0f0fu) + (eight >> 4 & 0x0f0f0f0fu)) * 0x01010101u >> 24;
  }
  return bits * (plan.capacity / 2);
}
// In which byte of a word a channel's fields are.
__device__ __forceinline__ unsigned byte_of(unsigned channel) {
  return channel == 1 ? 2 : channel == 2 ? 1 : channel;
}

// kMixedBitRatios as an object: code for a card cannot reach the array.
struct RangeRatios {
  static constexpr unsigned kCount =
      sizeof(reference::kMixedBitRatios) / sizeof(reference::kMixedBitRatios[0]);
  float of[kCount];
};
constexpr RangeRatios range_ratios() {
  RangeRatios out = {};
  for (unsigned i = 0; i < RangeRatios::kCount; ++i) out.of[i] = reference::kMixedBitRatios[i];
  return out;
}

// The values of one channel between its ends.
struct MixedBitRange {
  float scale, zero, inverse, top;

  __device__ __forceinline__ MixedBitRange(std::uint16_t scale_half, std::uint16_t zero_half,
                                           float top_code)
      : scale(half_value(scale_half)),
        zero(half_value(zero_half)),
        inverse(scale > 0 ? 1 / scale : 0),
        top(top_code) {}
  __device__ __forceinline__ float code_of(float x) const {
    const float steps = (x - zero) * inverse;
    const float positive = steps < 0.0f ? 0.0f : steps;
    const float inside = top < positive ? top : positive;
    return (inside + reference::kMixedBitRounding) - reference::kMixedBitRounding;
  }
};

// What a ratio makes of a channel's middle and half width.
__device__ __forceinline__ MixedBitRange mixed_bit_range(float middle, float half_width,
                                                         float ratio, float top) {
  float step = top > 0 ? 2 * ratio * half_width / top : 0;
  if (reference::kMixedBitStepMax < step) step = reference::kMixedBitStepMax;
  const std::uint16_t scale = half_nearest(step);
  return {scale, half_nearest(middle - half_value(scale) * top * 0.5f), top};
}

// A slice of keys, n_tokens of whole channels, first_channel on, into a page whose planes are zero.
template <unsigned kThreads>
struct MixedBitPacker {
  const PagePlan& plan;
  const PageRows& rows;
  unsigned first_channel;
  std::byte* page;
  float* memory;  // shared: kMixedBitWordsOfChannel floats a channel

  static constexpr unsigned kRatios = RangeRatios::kCount, kPerThread = 2;
  static_assert(2 + kRatios == kMixedBitWordsOfChannel && kRatios % kPerThread == 0);

  // Ends with the codes in their plane, behind no barrier.
  __device__ __forceinline__ void pack() const {
    find_middles();
    try_ratios();
    choose();
    put_codes();
  }

 private:
  __device__ __forceinline__ float* middles() const { return memory; }
  __device__ __forceinline__ float* half_widths() const { return memory + rows.n_channels; }
  // [ratio][channel]; ranges, two halves a word, lie in place of the middles afterwards
  __device__ __forceinline__ float* missed() const { return memory + 2 * rows.n_channels; }
  __device__ __forceinline__ float top(unsigned channel) const {
    return static_cast<float>((1u << bits_of_quad(plan.k, (first_channel + channel) / 4)) - 1);
  }
  // Chosen one by one: a table that a number points into would lie in memory.
  __device__ __forceinline__ MixedBitRange tried(unsigned channel, unsigned ratio) const {
    constexpr RangeRatios kOf = range_ratios();
    float chosen = kOf.of[0];
#pragma unroll
    for (unsigned r = 1; r < kRatios; ++r)
      if (r == ratio) chosen = kOf.of[r];
    return mixed_bit_range(middles()[channel], half_widths()[channel], chosen, top(channel));
  }

  // A channel without bits is its mean.
  __device__ __forceinline__ void find_middles() const {
    for (unsigned c = threadIdx.x; c < rows.n_channels; c += kThreads) {
      float low = rows.x[c], high = low, sum = low;
      for (unsigned t = 1; t < rows.n_tokens; ++t) {
        const float x = rows.x[t * rows.stride + c];
        low = x < low ? x : low;
        high = high < x ? x : high;
        sum += x;
      }
      middles()[c] =
          top(c) > 0 ? low * 0.5f + high * 0.5f : sum / static_cast<float>(rows.n_tokens);
      half_widths()[c] = high * 0.5f - low * 0.5f;
    }
    __syncthreads();
  }

  // A thread tries two ratios of a channel.
  __device__ __forceinline__ void try_ratios() const {
    for (unsigned i = threadIdx.x; i < rows.n_channels * (kRatios / kPerThread); i += kThreads) {
      const unsigned c = i % rows.n_channels, first = i / rows.n_channels * kPerThread;
      const MixedBitRange ranges[kPerThread] = {tried(c, first), tried(c, first + 1)};
      float sums[kPerThread] = {};
      for (unsigned t = 0; t < rows.n_tokens; ++t) {
        const float x = rows.x[t * rows.stride + c];
#pragma unroll
        for (unsigned r = 0; r < kPerThread; ++r) {
          const float off = ranges[r].code_of(x) * ranges[r].scale + ranges[r].zero - x;
          sums[r] += off * off;
        }
      }
      for (unsigned r = 0; r < kPerThread; ++r)
        missed()[(first + r) * rows.n_channels + c] = sums[r];
    }
    __syncthreads();
  }

  // The least, the wider of equals, into the page's planes and over the middles.
  __device__ __forceinline__ void choose() const {
    auto* scales = plane_of<std::uint16_t>(page, plan.k.scale_at) + first_channel;
    auto* zeros = plane_of<std::uint16_t>(page, plan.k.zero_at) + first_channel;
    for (unsigned c = threadIdx.x; c < rows.n_channels; c += kThreads) {
      unsigned best = 0;
      for (unsigned r = 1; r < kRatios; ++r)
        if (missed()[r * rows.n_channels + c] < missed()[best * rows.n_channels + c]) best = r;
      const MixedBitRange range = tried(c, best);
      scales[c] = half_nearest(range.scale);
      zeros[c] = half_nearest(range.zero);
      middles()[c] = range.scale;
      half_widths()[c] = range.zero;
    }
    __syncthreads();
  }

  // A warp a quad, a thread a word of one of its parts.
  __device__ __forceinline__ void put_codes() const {
    const unsigned thread = threadIdx.x % kWarp;
    auto* words = plane_of<std::uint32_t>(page, plan.k.values_at);
    for (unsigned q = threadIdx.x / kWarp; q < rows.n_channels / 4; q += kThreads / kWarp) {
      const unsigned quad = first_channel / 4 + q;
      unsigned at = quad_at(plan, quad) / 4;
      for (unsigned left = bits_of_quad(plan.k, quad); left > 0;) {
        const unsigned bits = part_bits(left), n_words = plan.capacity * bits / 8;
        left -= bits;
        for (unsigned w = thread; w < n_words; w += kWarp)
          words[at + w] = word(q * 4, left, bits, n_words, w);
        at += n_words;
      }
    }
  }
  __device__ __forceinline__ std::uint32_t word(unsigned first, unsigned below, unsigned bits,
                                                unsigned n_words, unsigned w) const {
    const unsigned mask = (1u << bits) - 1;
    std::uint32_t out = 0;
    for (unsigned c = 0; c < 4; ++c) {
      const MixedBitRange range(half_nearest(middles()[first + c]),
                                half_nearest(half_widths()[first + c]), top(first + c));
      for (unsigned t = w, shift = 8 * byte_of(c); t < rows.n_tokens; t += n_words, shift += bits) {
        const auto code = static_cast<unsigned>(range.code_of(rows.x[t * rows.stride + first + c]));
        out |= (code >> below & mask) << shift;
      }
    }
    return out;
  }
};

// Tokens first_token … of all channels into rows, coordinates as they are stored.
template <unsigned kThreads>
__device__ __forceinline__ void unpack_mixed_bit(const PagePlan& plan, const std::byte* page,
                                                 unsigned first_token, const PageRows& rows) {
  const PageOperand& keys = plan.k;
  const auto* scales = plane_of<uint2>(page, keys.scale_at);
  const auto* zeros = plane_of<uint2>(page, keys.zero_at);
  for (unsigned i = threadIdx.x; i < rows.n_tokens * (rows.n_channels / 4); i += kThreads) {
    const unsigned token = i % rows.n_tokens, quad = i / rows.n_tokens;
    const auto* words = plane_of<std::uint32_t>(page, keys.values_at + quad_at(plan, quad));
    std::uint32_t codes = 0;  // a byte a channel, in the order of words
    for (unsigned left = bits_of_quad(keys, quad); left > 0;) {
      const unsigned bits = part_bits(left), n_words = plan.capacity * bits / 8;
      const unsigned t = first_token + token;
      left -= bits;
      codes |= (words[t % n_words] >> t / n_words * bits & 0x01010101u * ((1u << bits) - 1))
               << left;
      words += n_words;
    }
    const uint2 scale = scales[quad], zero = zeros[quad];
    const auto value = [&](unsigned c, std::uint32_t of_scale, std::uint32_t of_zero) {
      const auto code = static_cast<float>(codes >> 8 * byte_of(c) & 255);
      return code * half_value(static_cast<std::uint16_t>(of_scale)) +
             half_value(static_cast<std::uint16_t>(of_zero));
    };
    put_four(
        rows.x + token * rows.stride + quad * 4,
        {value(0, scale.x & 0xffffu, zero.x & 0xffffu), value(1, scale.x >> 16, zero.x >> 16),
         value(2, scale.y & 0xffffu, zero.y & 0xffffu), value(3, scale.y >> 16, zero.y >> 16)});
  }
  __syncthreads();
}

}  // namespace satchel::kernels::cuda
