// Decode attention over everything a lane holds, as Backend::attend. A row is a token and a query
// head. The rows of a sequence on one lane are divided into tiles and the lane into splits; each
// CUDA block takes one tile and split (split-KV). The last block of a tile to finish merges the
// splits in order, by their logsumexp. Pointers are device memory.
//   columns  a row takes two of the eight columns of a matrix instruction. Each is fp16 and
//            together they have 22 bits (as in matmul.h). So four rows cost as much as one.
//   codes    are operand A: their bits are inserted into an fp16 constant, which is subtracted
//            again, so that sums lose no bits to it. Scales go into the other operand: K's into the
//            query, V's into the weights. Zeros are one number per row and group.
//   warps    a full page of codes is a warp's alone (packed_pages.h): products are of bytes, the
//            other operand integers of 16 bits. The block takes the rest of a split.
//   bases    keys in a basis (Transform::basis) want q' = q · from, rotated back by their frame.
//            A kernel of its own makes them once for all neighbouring pages of a frame.
//   order    sums go over the units of a split, those that warps take first, then over splits. The
//            splits of a lane depend on its length, on whether it has pages that warps take, on
//            n_kv_heads and on how many rows beyond 16 the sequence has, never on other work in
//            the call.
//   source   arXiv:2205.14135 (FlashAttention), arXiv:2311.01282 (FlashDecoding++: partial
//            results), arXiv:2503.18773 (BitDecoding: packed caches on tensor cores)
//   differs  from BitDecoding: offsets are subtracted from the operand, not from sums, which lost
//            1e-3. Where a page is not a warp's, the block takes it, so that one kernel with few
//            registers serves every head_dim and form.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention/lane_table.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kRowsOfSet = 4;       // of eight columns
inline constexpr unsigned kAttendWarps = 4;     // of a block
inline constexpr unsigned kPackedSetsMost = 2;  // of a tile whose packed pages warps take alone
inline constexpr unsigned kTileRowsMost = 16;   // rows of a block
inline constexpr unsigned kUnitTokens = 128;    // a unit is a page, or as many tokens of a run

// A tile of rows and the lane that they read.
struct AttendItem {
  DeviceLanes lanes;
  unsigned lane = 0, kv_head = 0;
  unsigned first_token = 0;            // of the sequence in the batch
  unsigned first_row = 0, n_rows = 0;  // row r: token r / n_group of the sequence, head r % n_group
  // The first n_single units are a split each, then come units_of_split at a time.
  unsigned n_units = 0, n_splits = 1, n_single = 0, units_of_split = 1;
  unsigned first_partial = 0;  // of its splits
  // Of pages that are read back before: page first_page + i lies where
  // decoded_places[first_place + i] says.
  unsigned first_page = 0, first_place = 0;
  unsigned first_basis_place = 0;  // of all its pages, where the table has_bases()

  constexpr unsigned first_unit(unsigned split) const {
    const unsigned unit = split < n_single ? split : n_single + (split - n_single) * units_of_split;
    return unit < n_units ? unit : n_units;
  }
};

struct AttendCall {
  const AttendItem* items = nullptr;
  unsigned n_items = 0, first_split = 0, n_splits = 0;  // of this launch
  unsigned run_slice_tokens = 0;
  const float* q = nullptr;
  const std::int32_t* positions = nullptr;
  float *out = nullptr, *lse = nullptr;
  unsigned n_heads = 0, n_group = 0, head_dim = 0, window = 0;
  bool has_packed = false;  // the lanes may have pages that warps take alone
  float scale = 1, soft_cap = 0;
  const float* sink_logits = nullptr;  // [n_heads]; null: no sinks
  // For pages with a shift: by how much a position rotates a pair, of a full circle.
  const double* rotations = nullptr;
  unsigned n_pairs = 0;
  bool pairs_are_adjacent = true;
  float transform_norm = 1;  // 1 / sqrt of the Hadamard block of head_dim
  unsigned hadamard_block = 1;
  const unsigned* decoded_places = nullptr;
  const float* decoded = nullptr;  // [place][K, V][kPageTokens, head_dim]
  // Queries in the bases of pages' keys, by transform_queries(): page p of an item finds its rows
  // at place basis_places[first_basis_place + p].
  unsigned* basis_places = nullptr;
  float* basis_queries = nullptr;              // [place][n_sets * kRowsOfSet, head_dim]
  float* partials = nullptr;                   // [partial][partial_floats()]
  unsigned* counters = nullptr;                // [n_items], 0 before and after
  std::size_t key_bytes = 0, value_bytes = 0;  // of the largest parts, as operand_places.h counts
  friend bool operator==(const AttendCall&, const AttendCall&) = default;
};

// Of a split: output of each row, not yet divided, then their largest logits, then their sums.
constexpr std::size_t partial_floats(unsigned n_rows, unsigned head_dim) {
  return std::size_t{n_rows} * (head_dim + 2);
}

// n_sets: 1, 2 or 4 sets of four rows a tile.
// First, where keys are in a basis: of all items, whose lanes have up to n_pages_most pages.
cudaError_t transform_queries(Queue& queue, const AttendCall& call, unsigned n_sets,
                              unsigned n_pages_most);
cudaError_t attend_decode(Queue& queue, const AttendCall& call, unsigned n_sets);
// The shared memory of a block.
std::size_t attend_shared_bytes(const AttendCall& call, unsigned n_sets);
// The most that K may take of it, and V, if a block has shared_bytes_max: any K fits beside any V.
std::size_t attend_operand_bytes_max(unsigned head_dim, std::size_t shared_bytes_max);

}  // namespace satchel::kernels::cuda
