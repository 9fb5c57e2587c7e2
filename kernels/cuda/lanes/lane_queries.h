// The queries of one KV lane in the form that kernels read: LaneQueries without its spans. Pointers
// are device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cuda/lanes/lane_keys.h"

namespace satchel::kernels::cuda {

struct LaneRows {
  const float* q = nullptr;
  const std::int32_t* positions = nullptr;
  unsigned n_tokens = 0, n_heads = 0, head_dim = 0, first_head = 0, n_group = 0;
  float scale = 1, soft_cap = 0;
  std::int64_t least_back = 0,
               most_back = 0;  // a query sees keys that lie this many positions before it
  unsigned n_pairs = 0;        // of its RoPE
  bool adjacent_pairs = false;
};
LaneRows lane_rows(const LaneQueries& lane);

}  // namespace satchel::kernels::cuda
