// The partial result of a split, and the merge of a tile's splits. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/cuda/attention/decode_values.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {

template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void put_partial(const DecodeBlock<kSets, kDim>& block,
                                            const Outputs<kSets, kDim>& outputs, float* to) {
  constexpr unsigned kRows = DecodeBlock<kSets, kDim>::kRows;
  outputs.for_each(block, [&](unsigned row, unsigned channel, float x) {
    to[std::size_t{row} * block.head_dim + channel] = x;
  });
  float* most = to + std::size_t{kRows} * block.head_dim;
  for (unsigned row = threadIdx.x; row < kRows; row += kAttendThreads) {
    most[row] = block.memory.most[row];
    most[kRows + row] = block.memory.sum[row];
  }
}

// Merges the splits' results in order; one warp per row.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void merge(const DecodeBlock<kSets, kDim>& block,
                                      const float* partials) {
  constexpr unsigned kRows = DecodeBlock<kSets, kDim>::kRows;
  constexpr float kLn2 = 0.69314718055994530942f;
  const AttendCall& call = block.call;
  const unsigned head_dim = block.head_dim, thread = block.thread, n_splits = block.item.n_splits;
  const std::size_t stride = partial_floats(kRows, head_dim);
#pragma unroll 1
  for (unsigned row = block.warp; row < block.item.n_rows; row += kAttendWarps) {
    const float* mosts = partials + std::size_t{kRows} * head_dim + row;
    float most = -INFINITY, sum = 0;
#pragma unroll 1
    for (unsigned p = thread; p < n_splits; p += kWarp) most = fmaxf(most, mosts[p * stride]);
    most = warp_max(most);
    const auto weight = [&](unsigned p) {
      return most == -INFINITY ? 0.0f : exp2f(mosts[p * stride] - most);
    };
#pragma unroll 1
    for (unsigned p = thread; p < n_splits; p += kWarp)
      sum += weight(p) * mosts[p * stride + kRows];
    sum = warp_sum(sum);
    const unsigned head = block.head_of(row);
    const std::size_t at = std::size_t{block.token_of(row)} * call.n_heads + head;
    if (call.sink_logits != nullptr) {
      const float sink = call.sink_logits[head] / kLn2, of_keys = most;
      most = fmaxf(most, sink);  // weight() follows
      sum = fmaf(sum, exp2f(of_keys - most), exp2f(sink - most));
    }
    const float inverse = sum > 0 ? 1 / sum : 0.0f;
    for (unsigned c = thread * 4; c < head_dim; c += kWarp * 4) {
      const float* from = partials + std::size_t{row} * head_dim + c;
      float4 all = {0, 0, 0, 0};
#pragma unroll 4
      for (unsigned p = 0; p < n_splits; ++p) {
        const float4 x = *reinterpret_cast<const float4*>(from + p * stride);
        const float w = weight(p);
        all = {fmaf(w, x.x, all.x), fmaf(w, x.y, all.y), fmaf(w, x.z, all.z), fmaf(w, x.w, all.w)};
      }
      *reinterpret_cast<float4*>(call.out + at * head_dim + c) = {all.x * inverse, all.y * inverse,
                                                                  all.z * inverse, all.w * inverse};
    }
    if (thread == 0 && call.lse != nullptr)
      call.lse[at] = sum > 0 ? (most + log2f(sum)) * kLn2 : -INFINITY;
  }
}

}  // namespace satchel::kernels::cuda
