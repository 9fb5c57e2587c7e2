// What attention queries give to each token that a cache holds, so that people can be shown what an
// answer looked at. Looking changes nothing but an open step, which is undone.
//   source  the softmax weights of attention (arXiv:1706.03762), summed by Backend::score
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/result.h"

namespace satchel::kvcache {

class Cache;

// Queries of a layer, of tokens that the cache has seen. All but `positions_here` in the backend's
// memory.
struct LayerQueries {
  const float* q = nullptr;                           // [n, n_heads, head_dim], after RoPE
  const float* lse = nullptr;                         // [n, n_heads], over all that the lanes show
  const std::int32_t* positions = nullptr;            // [n], rising
  std::span<const std::int32_t> positions_here = {};  // the same, in main memory; at least one
};

// Bytes of the backend that add_attention() works in.
std::size_t attention_work_bytes(Cache& cache);

// Adds to each token of the text the softmax weights that the queries give it: their sum over the
// queries, in the mean over the layer's heads. What is out of reach or was dropped gets nothing.
// False: the layer is none of those that people are shown (lanes_shown.h), and nothing was added.
//   work    backend's memory, attention_work_bytes()
//   shares  [n_tokens]
//   needs   no open prefill; Cache::refresh_lanes() and fetch_lanes() of the layer after the last
//           lease
//   errors  the backend's
Result<bool> add_attention(Cache& cache, std::size_t layer, const LayerQueries& queries,
                           std::byte* work, std::span<float> shares);

}  // namespace satchel::kvcache
