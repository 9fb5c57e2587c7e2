// Queries as columns of the matrix instruction.
#include "kernels/cuda/attention/query_rows.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/scoring/score.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 4, kThreads = kWarps * kWarp;

__device__ QueryColumn column_of(const ScoreItem& item, unsigned token, unsigned head,
                                 float inverse) {
  const LaneRows& rows = item.rows;
  QueryColumn column;
  column.factor = rows.scale * inverse;
  column.lse = item.lse[std::size_t{token} * rows.n_heads + head];
  column.weight = item.weights == nullptr ? 1 : item.weights[token];
  column.mean = 0;
  if (item.counts_below_mean) {
    const std::int64_t n = std::int64_t{rows.positions[token]} + 1 + item.n_beside;
    column.mean = static_cast<float>((1 - kBelowSlack) / static_cast<double>(n < 1 ? 1 : n));
  }
  return column;
}

// A warp a set; the second index of the grid is the head of the group, the third the item.
__global__ void __launch_bounds__(kThreads) split_queries(const ScoreItem* items) {
  wait_for_launch_before();
  const ScoreItem& item = items[blockIdx.z];
  const LaneRows& rows = item.rows;
  const unsigned set = blockIdx.x * kWarps + threadIdx.x / kWarp, in_group = blockIdx.y;
  if (set >= item.n_sets || in_group >= rows.n_group) return;
  const unsigned thread = threadIdx.x % kWarp, t = thread % 4, column = thread / 4;
  const unsigned token = set * kQueriesOfSet + column, head = rows.first_head + in_group;
  const bool is_there = token < rows.n_tokens;
  const float* row =
      is_there ? rows.q + (std::size_t{token} * rows.n_heads + head) * rows.head_dim : nullptr;
  const RowFactor factor = row_factor(row, rows.head_dim);
  const unsigned n_steps = steps_of(rows.head_dim);
  const std::size_t at = std::size_t{in_group} * item.n_sets + set;
  for (unsigned step = 0; step < n_steps; ++step) {
    const HalfPair first = split_at(row, step * 16 + 2 * t, rows.head_dim, factor.factor);
    const HalfPair second = split_at(row, step * 16 + 2 * t + 8, rows.head_dim, factor.factor);
    item.fragments[(at * n_steps + step) * kWarp + thread] = {{first.high, second.high},
                                                              {first.low, second.low}};
  }
  if (t != 0) return;
  item.columns[at * kQueriesOfSet + column] =
      is_there ? column_of(item, token, head, factor.inverse) : QueryColumn{};
}

}  // namespace

cudaError_t make_query_columns(Queue& queue, const ScoreItem* items, std::size_t n_items,
                               std::size_t n_sets_max, std::size_t n_group_max) {
  return launch_stretches(n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(n_sets_max, kWarps), static_cast<unsigned>(n_group_max), n);
    return launch(queue, {grid, kThreads}, split_queries, items + first);
  });
}

}  // namespace satchel::kernels::cuda
