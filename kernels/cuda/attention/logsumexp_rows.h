// How rows end, from one split or several: sink and logsumexp. For .cu files.
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

// Makes a row's sink, if it has one, a part of its sum, and writes its logsumexp if `puts_lse`.
// Returns the factor by which the sum of its values becomes its output. row: as above.
__device__ __forceinline__ float finish_row(const RowsCall& call, const RowsItem& item,
                                            std::size_t row, RowSum sum, bool puts_lse) {
  float keep = 1;
  if (call.sink_logits != nullptr) {
    const float sink = call.sink_logits[row % item.rows.n_heads], most = fmaxf(sum.most, sink);
    keep = exp2f((sum.most - most) * kLog2OfE);
    sum = {most, fmaf(sum.sum, keep, exp2f(fmaf(sink - most, kLog2OfE, kHeadroom)))};
  }
  if (puts_lse) put_lse(item, row, sum);
  return sum.sum > 0 ? keep / sum.sum : 0;
}

// Merges the results of items with several splits. For attend_prefill().
cudaError_t merge_splits(Queue& queue, const RowsCall& call, const RowsShape& shape);

}  // namespace satchel::kernels::cuda
