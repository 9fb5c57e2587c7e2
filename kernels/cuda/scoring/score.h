// Reductions of the columns of the attention matrix: Backend::score. Pointers are device memory.
//   shape    a CUDA block holds 128 keys of a KV lane (64 if head_dim > 128) as operand A in
//            registers, and iterates over the queries that see any of them as operand B, head by
//            head. Four threads keep a key's sum or maximum to the end: no atomics, a fixed order.
//   numbers  queries and decoded keys are pairs of fp16 (half_pair.h), as exact as fp32
//   source   arXiv:2411.18077 (MiniKV): columns without the matrix
//   differs  MiniKV keeps the queries in place, adds probabilities by atomics, and uses one fp16
//            per query value
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/lanes/lane_queries.h"
#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kQueriesOfSet = 8;  // columns of an instruction

// Two steps of a query's two parts, as a thread needs them.
struct alignas(16) QueryFragment {
  std::uint32_t high[2], low[2];
};
// The factor of a column's products, and the weight of its exponentials.
struct alignas(16) QueryColumn {
  float factor, lse, weight;
  float mean;  // below_mean: the limit of probabilities that count
};

struct ScoreItem {
  LaneRows rows = {};
  const float *lse = nullptr, *weights = nullptr;
  float* scores = nullptr;
  std::int64_t n_beside = 0;
  bool is_sum = true, mean_of_heads = true, counts_below_mean = false;
  unsigned n_sets = 0;                 // of a head's queries
  QueryFragment* fragments = nullptr;  // [n_group][n_sets][steps][thread]
  QueryColumn* columns = nullptr;      // [n_group][n_sets][8]
};

constexpr unsigned steps_of(std::size_t head_dim) {
  return static_cast<unsigned>((head_dim + 15) / 16);
}
constexpr unsigned tile_keys_of_score(std::size_t head_dim) {
  return head_dim > 128 ? 64 : 128;
}

using ScoreCall = TileCall<ScoreItem>;
// Fills the items' fragments and columns. n_sets_max, n_group_max: of the largest.
cudaError_t make_query_columns(Queue& queue, const ScoreItem* items, std::size_t n_items,
                               std::size_t n_sets_max, std::size_t n_group_max);
// All n_tiles of a call, whose items have at most this head_dim; are_halves: their keys are rows of
// fp16.
cudaError_t score_tiles(Queue& queue, const ScoreCall& call, std::size_t n_tiles,
                        std::size_t head_dim, bool are_halves);

}  // namespace satchel::kernels::cuda
