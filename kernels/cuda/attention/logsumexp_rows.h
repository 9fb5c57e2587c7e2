// The logsumexp of rows, from one split or several. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/attention/query_rows.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

inline constexpr float kHeadroom = 14, kHeadroomFactor = 1.0f / 16384;  // weights are times 2^14

// log(exp(a) + exp(b))
__device__ __forceinline__ float log_add(float a, float b) {
  const float larger = fmaxf(a, b), smaller = fminf(a, b);
  return smaller == kNothing ? larger : larger + log1pf(expf(smaller - larger));
}

// Writes the logsumexp of a row, if the item has a place for it. row: of [n_tokens, n_heads].
__device__ __forceinline__ void put_lse(const RowsItem& item, std::size_t row, const RowSum& sum) {
  if (item.lse == nullptr) return;
  const float lse = sum.sum > 0 ? sum.most + logf(sum.sum * kHeadroomFactor) : kNothing;
  item.lse[row] = item.out == nullptr ? log_add(item.lse[row], lse) : lse;
}

// Merges the results of items with several splits. For attend_prefill().
cudaError_t merge_splits(Queue& queue, const RowsCall& call, const RowsShape& shape);

}  // namespace satchel::kernels::cuda
