// Attention of many query rows (prefill), and of any number without values: Backend::attend and
// log_sum. Pointers in device memory.
//   shape    a row is a token and a head; a block holds 64 rows that read one lane, packed token by
//            token, as operand A, and the keys and values that any of them sees pass by in tiles. The
//            softmax is online. Where rows are few, the tiles are cut into slices, a block each, and
//            a second kernel puts these together in their order
//   numbers  queries and weights are two fp16, decoded keys and values too: as exact as fp32. Weights
//            are times 2^14, so that they are normal numbers of fp16 down to 2^-28
//   order    of sums: tiles, then slices; how many slices depends on the lane and its rows alone
//   source   arXiv:2205.14135, arXiv:2307.08691 (FlashAttention 1 and 2)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/lane_queries.h"
#include "kernels/cuda/queue.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kRowsOfBlock = 64;

// Of a row in a slice: the largest logit, and Σ exp(logit - largest) · 2^14.
struct RowSum {
  float most, sum;
};

// The rows of one lane, and what they read: tiles of 64 tokens (head_dim > 128: 16).
struct RowsItem {
  LaneRows rows = {};
  float* out = nullptr;  // [n_tokens, n_heads, head_dim]; log_sum: null
  float* lse = nullptr;  // [n_tokens, n_heads]; attend: written over, or null. log_sum: added to
  unsigned first_tile = 0, n_tiles = 0, tiles_of_slice = 0, n_slices = 1;
  // Where there is more than one slice: [n_slices][n_rows], and [n_slices][n_rows][head_dim].
  RowSum* sums = nullptr;
  float* parts = nullptr;

  constexpr std::size_t n_rows() const { return std::size_t{rows.n_tokens} * rows.n_group; }
};

constexpr unsigned tile_keys_of_rows(std::size_t head_dim) {
  return head_dim > 128 ? 16 : 64;
}

struct RowsCall {
  const RowsItem* items = nullptr;
  const KeyTile* tiles = nullptr;
  const TokenSource* sources = nullptr;
  const PagePlan* plans = nullptr;
  const float* rotations = nullptr;  // cosine, sine
  friend bool operator==(const RowsCall&, const RowsCall&) = default;
};
// How much the largest items have.
struct RowsShape {
  std::size_t n_items = 0, n_rows_max = 0, n_slices_max = 0, head_dim = 0;
  bool has_values = true;  // else log_sum
  bool has_pages = false;  // some keys or values are no rows of fp16
};
cudaError_t attend_many(Queue& queue, const RowsCall& call, const RowsShape& shape);
// What a block of it takes at most where it has values; without them, every card has enough.
std::size_t attend_many_shared_bytes(std::size_t head_dim);

}  // namespace satchel::kernels::cuda
