// Products of tokens with the experts that they use: one launch for all pairs, which finds each
// expert's matrix in the layer's table.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/experts/expert_choice.h"
#include "kernels/cuda/experts/expert_lists.h"
#include "kernels/cuda/experts/expert_table.h"

namespace satchel::kernels::cuda {

// out [n_pairs, n_out] = x · weightᵀ + bias of the pair's expert.
struct ExpertProduct {
  const ExpertMatrix* each = nullptr;  // [n_experts]
  float* out = nullptr;
  friend bool operator==(const ExpertProduct&, const ExpertProduct&) = default;
};
inline constexpr unsigned kExpertProductsMost = 2;  // of a launch: gate, up

// Of few tokens. x: row pair / pairs_of_row, as integers where matrices have tiles.
struct ExpertInput {
  const float* x = nullptr;
  Operands integers = {};
  unsigned n_pairs = 0, pairs_of_row = 1;
  const ExpertUnit* units = nullptr;  // [n_pairs]
};
// like: type and shape of all.
cudaError_t multiply_experts(Queue& queue, const DeviceMatrix& like,
                             std::span<const ExpertProduct> products, const ExpertInput& input);

// Of a prompt: rows pair / pairs_of_row of the halves.
struct PromptInput {
  HalfOperands halves = {};
  unsigned pairs_of_row = 1;
  ExpertLists lists = {};
};
inline constexpr unsigned kFewTokensOfBlock = 32;  // or kPromptTokens, of lists
cudaError_t multiply_prompt_experts(Queue& queue, const DeviceMatrix& like,
                                    std::span<const ExpertProduct> products,
                                    const PromptInput& input);

}  // namespace satchel::kernels::cuda
