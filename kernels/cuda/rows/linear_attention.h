// Linear attention with decay: with f = strength, a head's matrix becomes
// S = kept · S + k ⊗ (f · v) with each token, whose output is qᵀS · scale; where it corrects, v
// less kᵀ(kept · S). For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kColumns = 32, kOfColumn = 4;  // columns of S in a block, and threads of each
constexpr unsigned kColumnThreads = kColumns * kOfColumn;
constexpr unsigned kStride = kColumns + 8;  // eight columns' quads meet all 32 banks

// What every sequence of a call has in common. A Rule besides has `corrects`, of each head where
// q, k and v begin in a row, and of a token and a head what is kept and the strength.
struct LinearAttention {
  const float* convolved;  // [n_tokens, n_channels]
  std::size_t n_channels, n_heads, key_dim, value_dim;
  std::size_t state_at;  // where the heads' matrices begin in a state
  float scale;
  float* out;  // [n_tokens, n_heads, value_dim]
  friend bool operator==(const LinearAttention&, const LinearAttention&) = default;
};

__device__ inline float softplus(float x) {
  return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

struct LinearAttentionShared {
  float q[kStateDimMax], k[kStateDimMax];
  float s[kStateDimMax * kStride];
};

// A block is some columns of S of one head, blockIdx.x, in one sequence, blockIdx.z. Each column's
// rows are dealt to a quad of threads.
template <class Rule>
__global__ void __launch_bounds__(kColumnThreads)
    run_linear_attention(LinearAttention all, Rule rule, const StateSequence* sequences) {
  wait_for_launch_before();
  LinearAttentionShared& shared = shared_memory<LinearAttentionShared>();
  const StateSequence sequence = sequences[blockIdx.z];
  const std::size_t head = blockIdx.x;
  const unsigned n_rows = static_cast<unsigned>(all.key_dim), first = threadIdx.x % kOfColumn;
  const std::size_t column = blockIdx.y * kColumns + threadIdx.x / kOfColumn;
  const bool is_there = column < all.value_dim;
  const std::size_t at = all.state_at + head * all.key_dim * all.value_dim + column;
  float* const s = shared.s + threadIdx.x / kOfColumn;
  for (unsigned i = first; i < n_rows; i += kOfColumn)
    s[i * kStride] =
        is_there && sequence.before != nullptr ? sequence.before[at + i * all.value_dim] : 0.0f;
  for (std::size_t t = 0; t < sequence.n_tokens; ++t) {
    const std::size_t token = sequence.first_token + t;
    const float* const row = all.convolved + token * all.n_channels;
    __syncthreads();  // the token before has been read
    for (unsigned i = threadIdx.x; i < n_rows; i += kColumnThreads) {
      shared.q[i] = row[rule.q_at(head) + i];
      shared.k[i] = row[rule.k_at(head) + i];
    }
    __syncthreads();
    const float kept = rule.kept(token, head);
    float change = is_there ? row[rule.v_at(head) + column] : 0.0f, sum = 0;
    if (Rule::kCorrects) {
      float known = 0;
      for (unsigned i = first; i < n_rows; i += kOfColumn) known += shared.k[i] * s[i * kStride];
      change -= kept * quad_sum(known);
    }
    change *= rule.strength(token, head);
    for (unsigned i = first; i < n_rows; i += kOfColumn) {
      const float value = kept * s[i * kStride] + shared.k[i] * change;
      s[i * kStride] = value;
      sum += shared.q[i] * value;
    }
    sum = quad_sum(sum);
    if (is_there && first == 0)
      all.out[(token * all.n_heads + head) * all.value_dim + column] = sum * all.scale;
  }
  for (unsigned i = first; is_there && i < n_rows; i += kOfColumn)
    sequence.behind[at + i * all.value_dim] = s[i * kStride];
}

template <class Rule>
cudaError_t linear_attention(Queue& queue, const LinearAttention& all, const Rule& rule,
                             const StateSequence* sequences, std::size_t n_sequences) {
  return launch(queue,
                {{static_cast<unsigned>(all.n_heads), blocks_of(all.value_dim, kColumns),
                  static_cast<unsigned>(n_sequences)},
                 kColumnThreads,
                 sizeof(LinearAttentionShared)},
                run_linear_attention<Rule>, all, rule, sequences);
}

}  // namespace
}  // namespace satchel::kernels::cuda
