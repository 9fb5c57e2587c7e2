// Loads tokens of a KV lane into shared memory in the order of the matrix instruction: by a warp,
// from a run or from a page of any codec that has a kernel. For .cu files.
//   rows     K: a token's channels contiguous, as pairs of fp16. The stride in words is 4 more than
//            a multiple of 8, so that the eight rows of a fragment fall into different banks.
//   columns  V: pairs of neighbouring tokens, one word per channel; stride 8 more than a multiple
//            of 32
//   numbers  fp16 rows are kept; decoded values are pairs of fp16 (half_pair.h)
//   source   row_order.h (codes), transform.h (Hadamard, RoPE)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/contract/row_order.h"
#include "kernels/contract/transform.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/lanes/lane_keys.h"
#include "kernels/cuda/primitives/half_pair.h"

namespace satchel::kernels::cuda {

// Words from one row of keys to the next, from one pair of values to the next.
constexpr unsigned key_stride(unsigned n_steps) {
  return n_steps * 8 + 4;
}
constexpr unsigned value_stride(unsigned n_steps) {
  return n_steps * 16 + 8;
}

struct alignas(8) CosineSine {
  float cosine, sine;
};
struct alignas(16) Words4 {
  std::uint32_t at[4];
};

// The arrays that the sources of a call refer to.
struct TokenSources {
  const TokenSource* sources;
  const PagePlan* plans;
  const CosineSine* rotations;
};

// The rotation of keys whose page has a shift.
struct RotatedPairs {
  unsigned n;
  bool adjacent;
};

__device__ __forceinline__ bool is_live(const TokenSource& source, unsigned token) {
  if (token >= source.n_tokens) return false;
  return !source.is_page || (source.live[token / 64] >> token % 64 & 1) != 0;
}

// Tokens of one operand of a page: thread t of a warp holds channels t, t + 32 …
template <unsigned kSteps, bool kIsK>
class RowDecoder {
 public:
  static constexpr unsigned kValues = kSteps / 2;
  static constexpr bool kKeepsPlaces =
      kIsK && kSteps <= 8;  // of codes; for more there are no registers
  static constexpr bool kKeepsScales = !kIsK && kSteps <= 8;

  __device__ RowDecoder(const PagePlan& plan, RowForm form, const std::byte* page, unsigned thread)
      : operand_(kIsK ? plan.k : plan.v),
        are_floats_(form == RowForm::floats),
        page_(page),
        d_(plan.head_dim),
        n_entries_(kIsK ? plan.head_dim : plan.capacity),
        thread_(thread),
        places_(),
        scales_() {
    if (!has_codes()) return;
    for (unsigned i = 0; i < kValues; ++i) {
      if (channel(i) >= d_) continue;
      if (kKeepsPlaces) places_[kKeepsPlaces ? i : 0] = place_of(channel(i));
      if (kKeepsScales) scales_[kKeepsScales ? i : 0] = scales_of(channel(i));
    }
  }

  __device__ void read(unsigned token, float (&x)[kValues]) const {
    const Place of_token = kIsK || !has_codes() ? Place() : place_of(token);
    const unsigned scales = kIsK && has_codes() ? scales_of(token) : 0;
#pragma unroll
    for (unsigned i = 0; i < kValues; ++i) {
      x[i] = 0;
      if (channel(i) >= d_) continue;
      if (are_floats_)
        x[i] = plane<float>(0)[token * d_ + channel(i)];
      else if (!has_codes())
        x[i] = half_value(plane<std::uint16_t>(operand_.values_at)[token * d_ + channel(i)]);
      else if (kIsK)
        x[i] = value(token, scales,
                     kKeepsPlaces ? places_[kKeepsPlaces ? i : 0] : place_of(channel(i)));
      else
        x[i] =
            value(channel(i), kKeepsScales ? scales_[kKeepsScales ? i : 0] : scales_of(channel(i)),
                  of_token);
    }
    if (!are_floats_ && operand_.transform == Transform::hadamard) transform(x);
  }

 private:
  // An entry of a row of codes.
  struct Place {
    unsigned slot, word, bit;
  };
  __device__ bool has_codes() const {
    return !are_floats_ && operand_.form == PageForm::affine;
  }
  __device__ unsigned channel(unsigned i) const {
    return thread_ + kWarp * i;
  }
  template <class T>
  __device__ const T* plane(std::uint32_t at) const {
    return reinterpret_cast<const T*>(page_ + at);
  }
  __device__ Place place_of(unsigned entry) const {
    const auto slot = static_cast<unsigned>(slot_of_entry(n_entries_, entry));
    const unsigned bits = operand_.bits - operand_.low_bits;
    return {slot, slot * bits / 32, bit_of_slot(bits, slot)};
  }

  // Where the scales of a row's group begin: a division, so that it is kept.
  __device__ unsigned scales_of(unsigned row) const {
    return row / operand_.group * n_entries_;
  }

  __device__ float value(unsigned row, unsigned scales, const Place& place) const {
    const unsigned bits = operand_.bits - operand_.low_bits;
    const unsigned words = (n_entries_ * bits + 31) / 32;
    unsigned code =
        plane<std::uint32_t>(operand_.values_at)[row * words + place.word] >> place.bit &
        ((1u << bits) - 1);
    if (operand_.low_bits == 1) {  // of three bits
      const std::uint32_t low =
          plane<std::uint32_t>(operand_.low_at)[row * ((n_entries_ + 31) / 32) + place.slot / 32];
      code = code << 1 | (low >> bit_of_slot(1, place.slot) & 1);
    }
    const unsigned at = scales + place.slot;
    const float scale = half_value(plane<std::uint16_t>(operand_.scale_at)[at]);
    const auto of_code = static_cast<float>(code);
    if (operand_.is_symmetric)
      return (of_code - static_cast<float>((1u << operand_.bits) - 1) * 0.5f) * scale;
    return of_code * scale + half_value(plane<std::uint16_t>(operand_.zero_at)[at]);
  }

  // Butterflies between threads, then between a thread's own channels. The Hadamard transform is
  // its own inverse.
  __device__ void transform(float (&x)[kValues]) const {
    const auto n = static_cast<unsigned>(hadamard_block(d_));
    for (unsigned distance = 1; distance < n && distance < kWarp; distance *= 2) {
#pragma unroll
      for (unsigned i = 0; i < kValues; ++i) {
        const float other = __shfl_xor_sync(~0u, x[i], static_cast<int>(distance));
        x[i] = (thread_ & distance) == 0 ? x[i] + other : other - x[i];
      }
    }
#pragma unroll
    for (unsigned apart = 1; apart < kValues; apart *= 2) {
      if (apart * kWarp >= n) break;
#pragma unroll
      for (unsigned i = 0; i < kValues; ++i) {
        if ((i & apart) != 0) continue;
        const float a = x[i], b = x[i + apart];
        x[i] = a + b;
        x[i + apart] = a - b;
      }
    }
    const float norm = 1.0f / sqrtf(static_cast<float>(n));
    for (unsigned i = 0; i < kValues; ++i) x[i] *= norm;
  }

  PageOperand operand_;
  bool are_floats_;
  const std::byte* page_;
  unsigned d_, n_entries_, thread_;
  Place places_[kKeepsPlaces ? kValues : 1];
  unsigned scales_[kKeepsScales ? kValues : 1];
};

// Channels c and c + 1 of a row, rotated by the shift of its page.
__device__ __forceinline__ HalfPair rotated(const float* row, unsigned c, const RotatedPairs& pairs,
                                            const CosineSine* rotation) {
  float out[2];
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned pair = pairs.adjacent ? (c + i) / 2 : (c + i) % pairs.n;
    const bool is_first = pairs.adjacent ? i == 0 : c + i < pairs.n;
    out[i] = row[c + i];
    if (c + i >= 2 * pairs.n) continue;
    const CosineSine by = rotation[pair];
    const float other = row[pairs.adjacent ? c + 1 - i : is_first ? c + i + pairs.n : pair];
    out[i] = fmaf(out[i], by.cosine, is_first ? -(other * by.sine) : other * by.sine);
  }
  return split_pair(out[0], out[1]);
}

// kRows keys of a source from token `first` on, by a warp: [kRows][kStride] words, zeros where
// there is none; `low` is not touched where the keys are fp16 rows.
//   row  [kSteps · 16] floats of this warp's own
template <unsigned kSteps, unsigned kRows, bool kHasPages = true>
__device__ void fill_keys(const TokenSources& tables, const TokenSource& source, unsigned first,
                          unsigned head_dim, const RotatedPairs& pairs, std::uint32_t* high,
                          std::uint32_t* low, float* row) {
  constexpr unsigned kWords = kSteps * 8, kStride = key_stride(kSteps);
  const unsigned thread = threadIdx.x % kWarp;
  if (!kHasPages || source.k_form == RowForm::halves) {
    for (unsigned i = thread; i < kRows * kWords / 4; i += kWarp) {
      const unsigned r = i / (kWords / 4), word = i % (kWords / 4) * 4;
      Words4 four = {};
      if (first + r < source.n_tokens && 2 * word < head_dim)
        four = *reinterpret_cast<const Words4*>(
            source.k + (std::size_t{first + r} * head_dim + 2 * word) * sizeof(Half));
      *reinterpret_cast<Words4*>(high + r * kStride + word) = four;
    }
    return;
  }
  if constexpr (!kHasPages) return;
  const RowDecoder<kSteps, true> decoder(tables.plans[source.plan], source.k_form, source.k,
                                         thread);
#pragma unroll 1  // registers are short
  for (unsigned r = 0; r < kRows; ++r) {
    float x[kSteps / 2] = {};
    if (first + r < source.n_tokens) decoder.read(first + r, x);
    for (unsigned i = 0; i < kSteps / 2; ++i) row[thread + kWarp * i] = x[i];
    __syncwarp();
    for (unsigned word = thread; word < kWords; word += kWarp) {
      const HalfPair pair = source.rotation == 0 ? split_pair(row[2 * word], row[2 * word + 1])
                                                 : rotated(row, 2 * word, pairs,
                                                           tables.rotations + source.rotation - 1);
      high[r * kStride + word] = pair.high;
      low[r * kStride + word] = pair.low;
    }
    __syncwarp();
  }
}

// kRows values of a source from token `first` on, by a warp: [kRows / 2][kStride] words, zeros
// where there is none; `low` is not touched where the values are fp16 rows.
template <unsigned kSteps, unsigned kRows, bool kHasPages = true>
__device__ void fill_values(const TokenSources& tables, const TokenSource& source, unsigned first,
                            unsigned head_dim, std::uint32_t* high, std::uint32_t* low) {
  constexpr unsigned kWords = kSteps * 16, kStride = value_stride(kSteps);
  const unsigned thread = threadIdx.x % kWarp;
  if (!kHasPages || source.v_form == RowForm::halves) {
    for (unsigned i = thread; i < kRows / 2 * kWords / 8; i += kWarp) {
      const unsigned pair = i / (kWords / 8), channel = i % (kWords / 8) * 8;
      Words4 of_token[2] = {};
      for (unsigned k = 0; k < 2; ++k) {
        const std::size_t token = first + 2 * pair + k;
        if (token < source.n_tokens && channel < head_dim)
          of_token[k] = *reinterpret_cast<const Words4*>(source.v + (token * head_dim + channel) *
                                                                        sizeof(Half));
      }
      Words4 out[2];
      for (unsigned j = 0; j < 4; ++j) {
        const std::uint32_t a = of_token[0].at[j], b = of_token[1].at[j];
        out[j / 2].at[j % 2 * 2] = __byte_perm(a, b, 0x5410u);
        out[j / 2].at[j % 2 * 2 + 1] = __byte_perm(a, b, 0x7632u);
      }
      auto* to = reinterpret_cast<Words4*>(high + pair * kStride + channel);
      to[0] = out[0], to[1] = out[1];
    }
    return;
  }
  if constexpr (!kHasPages) return;
  const RowDecoder<kSteps, false> decoder(tables.plans[source.plan], source.v_form, source.v,
                                          thread);
#pragma unroll 1
  for (unsigned pair = 0; pair < kRows / 2; ++pair) {
    float x[2][kSteps / 2] = {};
    for (unsigned k = 0; k < 2; ++k)
      if (first + 2 * pair + k < source.n_tokens) decoder.read(first + 2 * pair + k, x[k]);
    for (unsigned i = 0; i < kSteps / 2; ++i) {
      const HalfPair words = split_pair(x[0][i], x[1][i]);
      high[pair * kStride + thread + kWarp * i] = words.high;
      low[pair * kStride + thread + kWarp * i] = words.low;
    }
  }
}

}  // namespace satchel::kernels::cuda
