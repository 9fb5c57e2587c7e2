// What recurrent layers share on the CPU: the short convolution before them, on all threads, and a
// head of linear attention, on one.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "kernels/contract/recurrent.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {

// Of items with so many products each, how many a thread takes at least.
std::size_t items_of_a_share(std::size_t products_of_item);

void convolve(const CpuContext& context, const SiluConv& conv,
              std::span<const StateSequence> sequences);

inline float softplus(float x) {
  return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x)));
}

struct HeadFactors {
  float kept, strength;  // as LinearAttentionJob has them
};
inline constexpr std::size_t kHeadTokens =
    64;  // chosen: S comes from memory and goes back once for so many

// The tokens of a sequence. of_batch: pointers to the batch's first token, no states and factors;
// state_at: where S lies in a state; factors_of(token).
template <class FactorsOf>
void run_head(const VectorOpsTable& table, const LinearAttentionJob& of_batch,
              const StateSequence& sequence, std::size_t state_at, const FactorsOf& factors_of) {
  std::array<float, kHeadTokens> kept, strength;
  LinearAttentionJob job = of_batch;
  job.before = sequence.before == nullptr ? nullptr : sequence.before + state_at;
  job.behind = sequence.behind + state_at;
  job.kept = kept.data();
  job.strength = strength.data();
  for (std::size_t t = 0; t < sequence.n_tokens; t += kHeadTokens) {
    const std::size_t first = sequence.first_token + t;
    job.n_tokens = std::min(kHeadTokens, sequence.n_tokens - t);
    for (std::size_t i = 0; i < job.n_tokens; ++i) {
      const HeadFactors factors = factors_of(first + i);
      kept[i] = factors.kept;
      strength[i] = factors.strength;
    }
    job.q = of_batch.q + first * job.row_stride;
    job.k = of_batch.k + first * job.row_stride;
    job.v = of_batch.v + first * job.row_stride;
    job.out = of_batch.out + first * job.out_stride;
    table.linear_attention(job);
    job.before = job.behind;
  }
}

}  // namespace satchel::kernels::cpu
