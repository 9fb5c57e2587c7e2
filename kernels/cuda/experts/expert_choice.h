// The experts that tokens use, chosen and weighted on the card, and their outputs added up.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/products/matmul.h"
#include "kernels/cuda/products/operands.h"

namespace satchel::kernels::cuda {

// A pair is a token and an expert that it uses: token · n_used + place, places in the order of the
// experts' numbers.

// Up to kTokensOfSet pairs of one expert, so that its weights are read once for them; n 0: none.
// There is one for each pair, at the first of those that it has.
struct ExpertUnit {
  std::uint32_t expert, n;
  std::uint32_t pairs[kTokensOfSet];
};

inline constexpr std::size_t kExpertsMost = 512, kUsedMost = 32;

struct ExpertChoice {
  const float* routed = nullptr;  // [n_tokens, n_experts]
  unsigned n_tokens = 0, n_experts = 0, n_used = 0;
  Backend::Weighting weighting = Backend::Weighting::softmax;
  const float *choice_biases = nullptr, *factors = nullptr;  // [n_experts]; null: none
  float factor = 1;
  std::uint32_t* experts = nullptr;  // [n_pairs]
  float* weights = nullptr;          // [n_pairs], times `factor`; NaN where the router is
  ExpertUnit* units = nullptr;       // [n_pairs]; null: not needed, else few tokens
  unsigned* has_nan = nullptr;       // set where the router's product is NaN
  friend bool operator==(const ExpertChoice&, const ExpertChoice&) = default;
};
inline constexpr std::size_t kUnitTokensMost = 16;  // that units are made of
static_assert(kUnitTokensMost <= kDecodeTokens, "their products are of integers");
cudaError_t choose_experts(Queue& queue, const ExpertChoice& choice);

// out [n_tokens, width] = x + Σ weight · row, over a token's pairs in order; x null: the sum alone.
struct WeightedSum {
  const float *rows = nullptr, *weights = nullptr;  // [n_pairs, width], [n_pairs]
  unsigned n_tokens = 0, n_used = 0, width = 0;
  const float* x = nullptr;
  float* out = nullptr;
  friend bool operator==(const WeightedSum&, const WeightedSum&) = default;
};
cudaError_t add_weighted(Queue& queue, const WeightedSum& sum);

}  // namespace satchel::kernels::cuda
