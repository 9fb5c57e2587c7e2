// The importance of keys by themselves: Backend::key_importance. Pointers are device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

struct KeyImportanceItem {
  const float* k = nullptr;
  float* scores = nullptr;
  std::size_t n_tokens = 0, stride = 0;
  std::size_t weights_at = 0;  // where its own begin among all
  unsigned head_dim = 0;
};
// n_tokens_max: of the largest item.
cudaError_t key_importance(Queue& queue, const KeyImportanceItem* items, const float* weights,
                           std::size_t n_items, std::size_t n_tokens_max);

}  // namespace satchel::kernels::cuda
