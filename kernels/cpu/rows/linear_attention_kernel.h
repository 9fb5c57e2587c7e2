// Linear attention with decay (Gated DeltaNet, Mamba-2) and the short convolution before it,
// written once over the registers `V` of a level. All of a column of S is one chain of operations,
// of channels of the convolution likewise, so that results depend neither on the level nor on where
// chunks of tokens end.
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/vector_ops_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Ops: VectorOps<V>, whose kernels these are besides.
template <class V, class Ops>
struct LinearAttentionKernel {
  using Float = typename V::Float;
  static constexpr std::size_t kFloats = V::kFloats;

  // Chosen: 128 rows of them are 16 or 32 KB, which stay in the nearest cache over all tokens; with
  // two sums for each, as many chains as hide the latency of a product.
  static constexpr std::size_t kVectors = 4, kColumns = kVectors * kFloats;
  using Columns = Float[kVectors];

  SATCHEL_INLINE void get(const float* at, std::size_t n, Columns& to) {
    float whole[kColumns] = {};
    __builtin_memcpy(whole, at, n * sizeof(float));
    unroll<0, kVectors>([&](auto i)
                            SATCHEL_INLINE_LAMBDA { to[i] = V::load_float(whole + i * kFloats); });
  }
  SATCHEL_INLINE void put(const Columns& from, std::size_t n, float* at) {
    float whole[kColumns];
    unroll<0, kVectors>([&](auto i)
                            SATCHEL_INLINE_LAMBDA { V::store(whole + i * kFloats, from[i]); });
    __builtin_memcpy(at, whole, n * sizeof(float));
  }

  // sum += x · row
  SATCHEL_INLINE void add_row(float x, const float* row, Columns& sum) {
    const Float factor = V::broadcast_float(x);
    unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
      sum[v] = V::fma(factor, V::load_float(row + v * kFloats), sum[v]);
    });
  }

  // kᵀS
  SATCHEL_INLINE void recall(const float* k, const float* s, std::size_t key_dim, Columns& known) {
    Columns odd;
    unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA { known[v] = odd[v] = V::zero_float(); });
    std::size_t i = 0;
    for (; i + 2 <= key_dim; i += 2) {
      add_row(k[i], s + i * kColumns, known);
      add_row(k[i + 1], s + (i + 1) * kColumns, odd);
    }
    if (i < key_dim) add_row(k[i], s + i * kColumns, known);
    unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA { known[v] = V::add(known[v], odd[v]); });
  }

  // row = kept · row + k · delta; sum += q · row
  SATCHEL_INLINE void change_row(Float kept, float k, float q, const Columns& delta, float* row,
                                 Columns& sum) {
    const Float by_k = V::broadcast_float(k), by_q = V::broadcast_float(q);
    unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
      float* const at = row + v * kFloats;
      const Float s = V::fma(by_k, delta[v], V::mul(kept, V::load_float(at)));
      V::store(at, s);
      sum[v] = V::fma(by_q, s, sum[v]);
    });
  }

  template <bool kCorrects>
  SATCHEL_INLINE void step(const LinearAttentionJob& job, std::size_t t, std::size_t column,
                           std::size_t n, float* s) {
    const float *q = job.q + t * job.row_stride, *k = job.k + t * job.row_stride;
    const Float kept = V::broadcast_float(job.kept[t]),
                strength = V::broadcast_float(job.strength[t]);
    Columns delta, sum, odd;
    get(job.v + t * job.row_stride + column, n, delta);
    if constexpr (kCorrects) {
      Columns known;
      recall(k, s, job.key_dim, known);
      unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
        delta[v] = V::sub(delta[v], V::mul(kept, known[v]));
      });
    }
    unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA {
      delta[v] = V::mul(strength, delta[v]);
      sum[v] = odd[v] = V::zero_float();
    });
    std::size_t i = 0;
    for (; i + 2 <= job.key_dim; i += 2) {
      change_row(kept, k[i], q[i], delta, s + i * kColumns, sum);
      change_row(kept, k[i + 1], q[i + 1], delta, s + (i + 1) * kColumns, odd);
    }
    if (i < job.key_dim) change_row(kept, k[i], q[i], delta, s + i * kColumns, sum);
    unroll<0, kVectors>([&](auto v) SATCHEL_INLINE_LAMBDA { sum[v] = V::add(sum[v], odd[v]); });
    put(sum, n, job.out + t * job.out_stride + column);
  }

  template <bool kCorrects>
  SATCHEL_INLINE void run(const LinearAttentionJob& job) {
    float s[kStateDimMax * kColumns];
    for (std::size_t column = 0; column < job.value_dim; column += kColumns) {
      const std::size_t left = job.value_dim - column, n = left < kColumns ? left : kColumns;
      __builtin_memset(s, 0, job.key_dim * kColumns * sizeof(float));
      for (std::size_t i = 0; job.before != nullptr && i < job.key_dim; ++i)
        __builtin_memcpy(s + i * kColumns, job.before + i * job.value_dim + column,
                         n * sizeof(float));
      for (std::size_t t = 0; t < job.n_tokens; ++t) step<kCorrects>(job, t, column, n, s);
      for (std::size_t i = 0; i < job.key_dim; ++i)
        __builtin_memcpy(job.behind + i * job.value_dim + column, s + i * kColumns,
                         n * sizeof(float));
    }
  }

  static void linear_attention(const LinearAttentionJob& job) {
    job.corrects ? run<true>(job) : run<false>(job);
  }

  // The job's channels of the row `at`, which counts from n_taps - 1: what is below is before it.
  SATCHEL_INLINE const float* row_at(const ConvJob& job, std::size_t at, const float* zeros) {
    if (at + 1 >= job.n_taps) return job.rows + (at + 1 - job.n_taps) * job.width + job.first;
    return job.before == nullptr ? zeros : job.before + at * job.width + job.first;
  }

  static void conv_silu(const ConvJob& job) {
    float taps[kTapsMax * kConvChannels] = {};  // tap by tap
    float bias[kConvChannels] = {};
    const float zeros[kConvChannels] = {};
    if (job.bias != nullptr) __builtin_memcpy(bias, job.bias + job.first, job.n * sizeof(float));
    for (std::size_t c = 0; c < job.n; ++c)
      for (std::size_t j = 0; j < job.n_taps; ++j)
        taps[j * kConvChannels + c] = job.taps[(job.first + c) * job.n_taps + j];
    for (std::size_t t = 0; t < job.n_tokens; ++t) {
      float* const out = job.out + t * job.width + job.first;
      for (std::size_t c = 0; c < job.n; c += kFloats) {
        const std::size_t left = job.n - c, n = left < kFloats ? left : kFloats;
        Float sum = V::load_float(bias + c);
        for (std::size_t j = 0; j < job.n_taps; ++j)
          sum = V::fma(V::load_float(taps + j * kConvChannels + c),
                       Ops::load_up_to(row_at(job, t + j, zeros) + c, n), sum);
        const Float one = V::broadcast_float(1.0f);
        const Float whole = V::div(sum, V::add(one, Ops::exp(V::sub(V::zero_float(), sum))));
        if (n == kFloats)
          V::store(out + c, whole);
        else
          Ops::store_some(out + c, whole, n);
      }
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
