// The pairs of each expert (expert_choice.h) of many tokens, sorted on the card, and cut into
// blocks of tokens, whose number the host knows beforehand.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {

// pairs[first] … pairs[first + n - 1] of the lists, of one expert; n 0: none.
struct ExpertBlock {
  std::uint32_t expert, first, n;
};

struct ExpertLists {
  const std::uint32_t* experts = nullptr;  // [n_pairs]
  unsigned n_tokens = 0, n_pairs = 0, n_experts = 0;
  unsigned tokens_of_block = 0;
  std::uint32_t* pairs = nullptr;  // [n_experts, n_tokens]: an expert's, in order
  ExpertBlock* blocks = nullptr;   // [n_blocks()], those that are none at the end

  constexpr unsigned n_blocks() const {
    return n_pairs / tokens_of_block + std::min(n_experts, n_pairs);
  }
  friend bool operator==(const ExpertLists&, const ExpertLists&) = default;
};
cudaError_t list_experts(Queue& queue, const ExpertLists& lists);

}  // namespace satchel::kernels::cuda
