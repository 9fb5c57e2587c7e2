// Attention of few query rows on whatever a lane holds (decode), as Backend::attend. A row is a
// token and a query head; the rows of a sequence that read one lane are cut into tiles, the lane
// into pieces: a block a tile and piece. The last block of a tile that ends merges its pieces, in
// their order, by their log-sum-exp. Pointers are device memory.
//   columns  a row takes two of the eight columns of a matrix instruction, fp16 each, which add to 22
//            bits of it (as matmul.h has it): four rows cost what one does
//   codes    are operand A: their bits are put into an fp16 constant, which is taken off again, so
//            that sums do not lose bits to it. Scales go into the other operand: of K into the query,
//            of V into the weights; zeros are one number a row and group
//   order    of sums: within a piece its units one after the other, then pieces. Where a lane is cut
//            depends on the lane, on n_kv_heads and on how many rows the sequence has beyond 16: never
//            on what else shares the call
//   source   arXiv:2205.14135 (FlashAttention), arXiv:2311.01282 (FlashDecoding++: partial results),
//            arXiv:2503.18773 (BitDecoding: packed caches on tensor cores)
//   differs  from BitDecoding: offsets come off the operand, not off sums, which lost 1e-3; a page is a
//            block's, not a warp's, so that one kernel of few registers serves every head_dim and form
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/lane_table.h"
#include "kernels/cuda/queue.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kRowsOfSet = 4;      // of eight columns
inline constexpr unsigned kTileRowsMost = 16;  // rows of a block
inline constexpr unsigned kUnitTokens = 128;   // a unit is a page, or as many tokens of a run

// A tile of rows and the lane that they read.
struct AttendItem {
  DeviceLanes lanes;
  unsigned lane = 0, kv_head = 0;
  unsigned first_token = 0;            // of the sequence in the batch
  unsigned first_row = 0, n_rows = 0;  // row r: token r / n_group of the sequence, head r % n_group
  unsigned n_units = 0, n_pieces = 1, units_of_piece = 1;
  unsigned first_partial = 0;  // of its pieces
  // Of pages that are read back before: page first_page + i lies where decoded_places[first_place + i]
  // says.
  unsigned first_page = 0, first_place = 0;
};

struct AttendCall {
  const AttendItem* items = nullptr;
  unsigned n_items = 0, first_piece = 0, n_pieces = 0;  // pieces of this launch
  const float* q = nullptr;
  const std::int32_t* positions = nullptr;
  float *out = nullptr, *lse = nullptr;
  unsigned n_heads = 0, n_group = 0, head_dim = 0, window = 0;
  float scale = 1, soft_cap = 0;
  // For pages with a shift: what a pair turns by in a position, in whole turns.
  const double* turns = nullptr;
  unsigned n_pairs = 0;
  bool pairs_are_adjacent = true;
  float turn_norm = 1;  // 1 / sqrt of the Hadamard block of head_dim
  unsigned turn_block = 1;
  const unsigned* decoded_places = nullptr;
  const float* decoded = nullptr;              // [place][K, V][kPageTokens, head_dim]
  float* partials = nullptr;                   // [partial][partial_floats()]
  unsigned* counters = nullptr;                // [n_items], 0 before and after
  std::size_t key_bytes = 0, value_bytes = 0;  // of the largest parts, as attend_parts.h counts
  friend bool operator==(const AttendCall&, const AttendCall&) = default;
};

// Of a piece: output of each row, not yet divided, then their largest logits, then their sums.
constexpr std::size_t partial_floats(unsigned n_rows, unsigned head_dim) {
  return std::size_t{n_rows} * (head_dim + 2);
}

// n_sets: 1, 2 or 4 sets of four rows a tile.
cudaError_t attend_few(Queue& queue, const AttendCall& call, unsigned n_sets);
// What a block of it takes.
std::size_t attend_shared_bytes(const AttendCall& call, unsigned n_sets);
// What K may take of it, and V, on a card where a block has so much: any K fits beside any V.
std::size_t attend_part_bytes_most(unsigned head_dim, std::size_t shared_bytes_max);

}  // namespace satchel::kernels::cuda
