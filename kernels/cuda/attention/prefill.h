// Prefill attention, and logsumexp for any number of rows: Backend::attend and logsumexp. Pointers
// are device memory.
//   shape    a row is a token and a head. A CUDA block holds 64 or 128 rows on one lane, token by
//            token, as operand A, and iterates over tiles of the keys and values visible to any of
//            them, with online softmax. If there are few rows, tiles are divided into splits, one
//            block each, which a second kernel merges in order.
//   numbers  where all keys and values are rows of fp16 with up to 128 channels, as a prompt's own
//            are, queries and weights are rounded to fp16 too (prefill_halves.cu); else they, and
//            what is decoded, are pairs of fp16, as exact as fp32. Weights are multiplied by 2^14,
//            so that they are normal fp16 numbers down to 2^-28.
//   order    sums go over tiles, then splits; the number of splits depends on the lane and its rows
//            only
//   source   arXiv:2205.14135, arXiv:2307.08691 (FlashAttention 1 and 2)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/lanes/lane_queries.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kRowsOfBlock = 64;

// Of a row in a split: the largest logit, and Σ exp(logit - largest) · 2^14.
struct RowSum {
  float most, sum;
};

// The rows of one lane, and what they read: tiles of 64 tokens (head_dim > 128: 16).
struct RowsItem {
  LaneRows rows = {};
  float* out = nullptr;  // [n_tokens, n_heads, head_dim]; logsumexp: null
  float* lse = nullptr;  // [n_tokens, n_heads]; attend: written over, or null. logsumexp: added to
  unsigned first_tile = 0, n_tiles = 0, tiles_of_split = 0, n_splits = 1;
  // Where there is more than one split: [n_splits][n_rows], and [n_splits][n_rows][head_dim].
  RowSum* sums = nullptr;
  float* parts = nullptr;

  constexpr std::size_t n_rows() const { return std::size_t{rows.n_tokens} * rows.n_group; }
};

constexpr unsigned tile_keys_of_rows(std::size_t head_dim) {
  return head_dim > 128 ? 16 : 64;
}

struct RowsCall : TileCall<RowsItem> {
  const float* sink_logits = nullptr;  // [n_heads]; null: no sinks
  friend bool operator==(const RowsCall&, const RowsCall&) = default;
};
// The sizes of the largest items.
struct RowsShape {
  std::size_t n_items = 0, n_rows_max = 0, n_splits_max = 0, head_dim = 0;
  bool has_values = true;        // else logsumexp
  bool has_pages = false;        // some keys or values are not rows of fp16
  std::size_t shared_bytes = 0;  // that a block may take on this card
};
cudaError_t attend_prefill(Queue& queue, const RowsCall& call, const RowsShape& shape);
// For rows of fp16 alone; the splits are merged by attend_prefill(), which calls it.
bool takes_prefill_halves(const RowsShape& shape);
cudaError_t attend_prefill_halves(Queue& queue, const RowsCall& call, const RowsShape& shape);
// The most shared memory of a block with values; without values, every card has enough.
std::size_t prefill_shared_bytes(std::size_t head_dim);

}  // namespace satchel::kernels::cuda
