// The steps of a block of prefill.cu: its state, queries, products, softmax and sums. For .cu
// files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/attention/logsumexp_rows.h"
#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/attention/query_rows.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/mma.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kPrefillWarps = kRowsOfBlock / 16,
                          kPrefillThreads = kPrefillWarps * kWarp;

// kSteps: of 16 channels, at most; kHasPages: some keys or values have to be decoded.
template <unsigned kSteps, bool kHasValues, bool kHasPages>
struct PrefillForm {
  static constexpr unsigned kKeys = tile_keys_of_rows(kSteps * 16);
  static constexpr unsigned kKeyStride = key_stride(kSteps), kValueStride = value_stride(kSteps);
  static constexpr unsigned kPlaneWords = kKeys * kKeyStride;
  static_assert(kPlaneWords == kKeys / 2 * kValueStride);
  // Parts of the queries that stay in registers: as many as there is room for beside the outputs.
  static constexpr unsigned kKept = !kHasValues || kSteps <= 4 ? 2
                                    : kSteps > 8               ? 0
                                    : kHasPages                ? 1
                                                               : 2;

  struct Memory {
    // Fp16 rows: keys and values; else the two parts of keys, then of values.
    std::uint32_t planes[2][kPlaneWords];
    float row[kPrefillWarps][kSteps * 16];
    std::int32_t positions[kKeys];
    float bias[kKeys];  // -infinity where no token lives
    Words4 queries[2 - kKept + (kKept == 2)][kPrefillWarps][kKept == 2 ? 1 : kSteps * kWarp];
    RowsItem item;  // what the block works for
  };
};

// A thread has parts of rows thread / 4 and thread / 4 + 8 of its warp's sixteen.
struct OwnRows {
  unsigned token[2], head[2];
  bool is_there[2];
  std::int32_t position[2];

  __device__ OwnRows(const LaneRows& rows, unsigned first_row) {
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = first_row + threadIdx.x % kWarp / 4 + 8 * i;
      is_there[i] = row < rows.n_tokens * rows.n_group;
      const unsigned known = is_there[i] ? row : rows.n_tokens * rows.n_group - 1;
      token[i] = known / rows.n_group;
      head[i] = rows.first_head + known % rows.n_group;
      position[i] = rows.positions[token[i]];
    }
  }
  __device__ std::size_t at(const LaneRows& rows, unsigned i) const {
    return std::size_t{token[i]} * rows.n_heads + head[i];
  }
};

// Operand A: both parts of sixteen query rows, the first kKept of them in registers.
template <class F, unsigned kSteps>
struct PrefillQueries {
  Words4 kept[F::kKept == 0 ? 1 : F::kKept][F::kKept == 0 ? 1 : kSteps];
  float factor[2];  // what products of a row are times

  __device__ void load(const LaneRows& rows, const OwnRows& own, typename F::Memory& memory) {
    const float* of_row[2];
    RowFactor row_factors[2];
    for (unsigned i = 0; i < 2; ++i) {
      of_row[i] = own.is_there[i] ? rows.q + own.at(rows, i) * rows.head_dim : nullptr;
      row_factors[i] = row_factor(of_row[i], rows.head_dim);
      factor[i] = rows.scale * row_factors[i].inverse;
    }
#pragma unroll
    for (unsigned step = 0; step < kSteps; ++step) {
      Words4 high, low;
      for (unsigned r = 0; r < 4; ++r) {
        const HalfPair pair = split_at(of_row[r % 2], step * 16 + threadIdx.x % 4 * 2 + r / 2 * 8,
                                       rows.head_dim, row_factors[r % 2].factor);
        high.at[r] = pair.high, low.at[r] = pair.low;
      }
      put<0>(step, high, memory);
      put<1>(step, low, memory);
    }
  }
  template <unsigned kPart>
  __device__ __forceinline__ Words4 get(unsigned step, const typename F::Memory& memory) const {
    if constexpr (kPart < F::kKept)
      return kept[kPart][step];
    else
      return memory.queries[kPart - F::kKept][threadIdx.x / kWarp][place(step)];
  }

 private:
  __device__ static unsigned place(unsigned step) {
    return step * kWarp + threadIdx.x % kWarp;
  }
  template <unsigned kPart>
  __device__ __forceinline__ void put(unsigned step, const Words4& four,
                                      typename F::Memory& memory) {
    if constexpr (kPart < F::kKept)
      kept[kPart][step] = four;
    else
      memory.queries[kPart - F::kKept][threadIdx.x / kWarp][place(step)] = four;
  }
};

// products[n][i]: row thread / 4 + 8 · (i / 2), key 8 · n + 2 · (thread % 4) + i % 2.
template <class F, unsigned kSteps>
__device__ __forceinline__ void multiply_keys(const PrefillQueries<F, kSteps>& queries,
                                              const typename F::Memory& memory, unsigned n_steps,
                                              bool has_low, float (&products)[F::kKeys / 8][4]) {
  const unsigned thread = threadIdx.x % kWarp;
#pragma unroll
  for (unsigned step = 0; step < kSteps; ++step) {
    if (step >= n_steps) break;
    const Words4 high = queries.template get<0>(step, memory);
    const Words4 low = queries.template get<1>(step, memory);
#pragma unroll
    for (unsigned n = 0; n < F::kKeys / 8; ++n) {
      const unsigned at = (n * 8 + thread / 4) * F::kKeyStride + step * 8 + thread % 4;
      const std::uint32_t key[2] = {memory.planes[0][at], memory.planes[0][at + 4]};
      multiply_add(products[n], high.at, key);
      multiply_add(products[n], low.at, key);
      if (!has_low) continue;
      const std::uint32_t rest[2] = {memory.planes[1][at], memory.planes[1][at + 4]};
      multiply_add(products[n], high.at, rest);
    }
  }
}

// Products become logits, -infinity where a row does not see the key.
template <class F>
__device__ __forceinline__ void make_logits(const LaneRows& rows, const OwnRows& own,
                                            const float (&factor)[2],
                                            const typename F::Memory& memory, bool all_seen,
                                            float (&logits)[F::kKeys / 8][4]) {
#pragma unroll
  for (unsigned n = 0; n < F::kKeys / 8; ++n)
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) logits[n][i] *= factor[i / 2];
  cap_logits(rows.soft_cap, logits);
#pragma unroll
  for (unsigned n = 0; n < F::kKeys / 8; ++n) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned key = n * 8 + threadIdx.x % 4 * 2 + i % 2;
      float logit = logits[n][i] + memory.bias[key];
      if (!all_seen && !can_attend(rows, own.position[i / 2], memory.positions[key]))
        logit = kNothing;
      logits[n][i] = logit;
    }
  }
}

// The softmax of two rows so far; this thread's share of the sums.
struct PrefillSoftmax {
  float most[2] = {kNothing, kNothing}, sum[2] = {};

  // Logits become weights; what was summed before is times `correction`.
  template <unsigned kCount>
  __device__ __forceinline__ void take(float (&logits)[kCount][4], float (&correction)[2]) {
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      float largest = kNothing;
#pragma unroll
      for (unsigned n = 0; n < kCount; ++n)
        largest = fmaxf(largest, fmaxf(logits[n][2 * i], logits[n][2 * i + 1]));
      largest = fmaxf(most[i], quad_max(largest));
      const float base = largest == kNothing ? 0 : largest;
      correction[i] = exp2f((most[i] - base) * kLog2OfE);
      most[i] = largest;
      float added = 0;
#pragma unroll
      for (unsigned n = 0; n < kCount; ++n) {
#pragma unroll
        for (unsigned k = 2 * i; k < 2 * i + 2; ++k) {
          logits[n][k] = exp2f(fmaf(logits[n][k] - base, kLog2OfE, kHeadroom));
          added += logits[n][k];
        }
      }
      sum[i] = fmaf(sum[i], correction[i], added);
    }
  }
};

// Writes what 16 rows have met, or a split of it. outputs: as add_values() has them.
template <bool kHasValues, unsigned kChannels>
__device__ __forceinline__ void put_rows(const RowsCall& call, const RowsItem& item,
                                         const OwnRows& own, const PrefillSoftmax& softmax,
                                         const float (&outputs)[kChannels][4], unsigned split) {
  const LaneRows& rows = item.rows;
#pragma unroll
  for (unsigned i = 0; i < 2; ++i) {
    const float sum = quad_sum(softmax.sum[i]);
    if (!own.is_there[i]) continue;
    const std::size_t row = own.at(rows, i), d = rows.head_dim;
    float* out = item.out;
    float factor = 1;
    std::size_t at = row * d;
    if (item.n_splits > 1) {
      const std::size_t of_split =
          split * item.n_rows() + own.token[i] * rows.n_group + own.head[i] - rows.first_head;
      if (threadIdx.x % 4 == 0) item.sums[of_split] = {softmax.most[i], sum};
      out = item.parts, at = of_split * d;
    } else {
      factor = finish_row(call, item, row, {softmax.most[i], sum}, threadIdx.x % 4 == 0);
    }
    if constexpr (kHasValues) {
#pragma unroll
      for (unsigned c = 0; c < kChannels; ++c) {
        const unsigned channel = c * 8 + threadIdx.x % 4 * 2;
        if (channel >= d) break;
        *reinterpret_cast<TwoFloats*>(out + at + channel) = {outputs[c][2 * i] * factor,
                                                             outputs[c][2 * i + 1] * factor};
      }
    }
  }
}

// outputs[c][i]: row thread / 4 + 8 · (i / 2), channel 8 · c + 2 · (thread % 4) + i % 2.
template <class F, unsigned kSteps>
__device__ __forceinline__ void add_values(const float (&weights)[F::kKeys / 8][4],
                                           const std::uint32_t* plane, const std::uint32_t* rest,
                                           unsigned n_steps, float (&outputs)[2 * kSteps][4]) {
  const unsigned thread = threadIdx.x % kWarp;
#pragma unroll
  for (unsigned k = 0; k < F::kKeys / 16; ++k) {
    std::uint32_t high[4], low[4];
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
      const float(&two)[4] = weights[2 * k + r / 2];
      const HalfPair pair = split_pair(two[r % 2 * 2], two[r % 2 * 2 + 1]);
      high[r] = pair.high, low[r] = pair.low;
    }
#pragma unroll
    for (unsigned c = 0; c < 2 * kSteps; ++c) {
      if (c >= 2 * n_steps) break;
      const unsigned at = (k * 8 + thread % 4) * F::kValueStride + c * 8 + thread / 4;
      const std::uint32_t value[2] = {plane[at], plane[at + 4 * F::kValueStride]};
      multiply_add(outputs[c], high, value);
      multiply_add(outputs[c], low, value);
      if (rest == nullptr) continue;
      const std::uint32_t beside[2] = {rest[at], rest[at + 4 * F::kValueStride]};
      multiply_add(outputs[c], high, beside);
    }
  }
}

template <class F>
__device__ __forceinline__ void fill_places(const TokenSource& source, unsigned first,
                                            typename F::Memory& memory, bool counts) {
  for (unsigned i = threadIdx.x; i < F::kKeys; i += kPrefillThreads) {
    const unsigned token = first + i;
    const bool lives = is_live(source, token);
    memory.positions[i] = lives ? source.positions[token] + source.shift : 0;
    const bool has_count = counts && lives && source.log_counts != nullptr;
    memory.bias[i] = !lives ? kNothing : has_count ? source.log_counts[token] : 0.0f;
  }
}

}  // namespace satchel::kernels::cuda
