// Selection of the largest scores: Backend::select, and the parts that argmax and top_k need.
// Pointers, including `items`, are device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

// A block an item: indices rise; larger first, then the lower index; NaN counts as -infinity.
cudaError_t select(Queue& queue, const SelectArgs* items, std::size_t n_items);

struct Choice {
  std::int32_t largest, first_nan;  // -1: there is none
};
cudaError_t choose(Queue& queue, const float* logits, std::size_t n, Choice* out);
// out[i] = {indices[i], logits[indices[i]]}
cudaError_t take_ranked(Queue& queue, const float* logits, const std::int32_t* indices,
                        std::size_t n, Backend::Ranked* out);

}  // namespace satchel::kernels::cuda
