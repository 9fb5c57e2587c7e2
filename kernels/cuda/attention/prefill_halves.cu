// Prefill attention over rows of fp16 alone, on the fp16 matrix instruction: what a prompt's own
// keys and values are.
//   block    128 rows, 32 a warp, so that each fragment of keys or values that is read serves two
//            products; keys and values of a tile lie in shared memory as they are. The values are
//            on their way while keys are used, the next keys while values are
//   numbers  queries are times a power of two, weights times 2^14; both are rounded to fp16, as the
//            keys and values that they meet have been
//   source   arXiv:2307.08691 (FlashAttention 2): the order of copies and products
#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/attention/prefill_steps.h"
#include "kernels/cuda/primitives/async_copy.h"
#include "kernels/cuda/primitives/block_copy.h"
#include "kernels/cuda/primitives/exp2.h"
#include "kernels/cuda/primitives/load_matrix.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 4, kThreads = kWarps * kWarp;
constexpr unsigned kTiles = 2, kRowsOfWarp = kTiles * 16, kRows = kWarps * kRowsOfWarp;

// kSteps: of 16 channels, at most.
template <unsigned kSteps>
struct Memory {
  static constexpr unsigned kKeys = tile_keys_of_rows(kSteps * 16), kPieces = kSteps <= 4 ? 8 : 16;
  // Rows of 16-byte pieces; piece p of row r at p ^ r % 8. Pieces past head_dim are 0.
  uint4 queries[kRows][kPieces];
  uint4 keys[kKeys][kPieces], values[kKeys][kPieces];
  float factors[kRows];  // what products of a row are times
  std::int32_t positions[kRows];
  RowsItem item;  // what the block works for
};

template <unsigned kPieces>
__device__ __forceinline__ const std::byte* piece_of(const uint4 (&rows)[kPieces], unsigned row,
                                                     unsigned piece) {
  return reinterpret_cast<const std::byte*>(&rows[piece ^ row % 8]);
}

// Of keys or values: a tile's rows, on their way; 0 where there is no token. A thread has one piece
// of every kApart-th row.
template <unsigned kKeys, unsigned kPieces>
__device__ __forceinline__ void copy_rows(uint4 (&to)[kKeys][kPieces], const std::byte* from,
                                          unsigned n_there, unsigned head_dim) {
  constexpr unsigned kApart = kThreads / kPieces;
  static_assert(kApart % 8 == 0 && kKeys % kApart == 0);
  const unsigned row = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
  const bool has_piece = piece * 8 < head_dim;
  const std::size_t row_bytes = std::size_t{head_dim} * 2;
  from += row * row_bytes + piece * 16;
#pragma unroll
  for (unsigned i = 0; i < kKeys / kApart; ++i) {
    uint4* const there = &to[row + i * kApart][piece ^ row % 8];
    if (has_piece && row + i * kApart < n_there)
      copy_16_bytes_async(there, from + i * kApart * row_bytes);
    else
      *there = {0, 0, 0, 0};
  }
  commit_copies();
}

// The warp's rows as fp16, a thread four channels of each; eight rows are on their way at once.
template <unsigned kSteps>
__device__ __forceinline__ void load_queries(const LaneRows& rows, unsigned first_row,
                                             Memory<kSteps>& memory) {
  constexpr unsigned kAtOnce = 8;
  const unsigned warp = threadIdx.x / kWarp, channel = threadIdx.x % kWarp * 4;
  const unsigned n_rows = rows.n_tokens * rows.n_group;
#pragma unroll 1
  for (unsigned first = 0; first < kRowsOfWarp; first += kAtOnce) {
    float4 fours[kAtOnce];
    std::int32_t positions[kAtOnce];
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const unsigned row = first_row + warp * kRowsOfWarp + first + i;
      const unsigned token = (row < n_rows ? row : n_rows - 1) / rows.n_group;
      const std::size_t at =
          std::size_t{token} * rows.n_heads + rows.first_head + (row - token * rows.n_group);
      const bool is_there = row < n_rows && channel < rows.head_dim;
      fours[i] = is_there ? *reinterpret_cast<const float4*>(rows.q + at * rows.head_dim + channel)
                          : float4{0, 0, 0, 0};
      positions[i] = rows.positions[token];
    }
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const unsigned row = warp * kRowsOfWarp + first + i;  // of the block
      const float4 four = fours[i];
      const float most =
          fmaxf(fmaxf(fabsf(four.x), fabsf(four.y)), fmaxf(fabsf(four.z), fabsf(four.w)));
      const RowFactor factor = factor_of(warp_max(most));
      if (threadIdx.x % kWarp == 0) {
        memory.factors[row] = rows.scale * factor.inverse;
        memory.positions[row] = positions[i];
      }
      if (channel >= kSteps * 16) continue;
      auto* words = reinterpret_cast<uint2*>(&memory.queries[row][channel / 8 ^ row % 8]);
      words[channel / 4 % 2] = {nearest_pair(four.x * factor.factor, four.y * factor.factor),
                                nearest_pair(four.z * factor.factor, four.w * factor.factor)};
    }
  }
}

// A tile that some row of the block sees.
struct SeenTile {
  unsigned i = 0;  // end: none
  unsigned source = 0;
  unsigned first = 0;
  PositionRange positions = {};
};

template <unsigned kSteps>
struct HalvesBlock {
  static constexpr unsigned kKeys = Memory<kSteps>::kKeys;
  const LaneRows& rows;
  Memory<kSteps>& memory;
  const unsigned thread = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  PrefillSoftmax softmax[kTiles];
  float outputs[kTiles][2 * kSteps][4] = {};

  __device__ __forceinline__ explicit HalvesBlock(Memory<kSteps>& of_block)
      : rows(of_block.item.rows), memory(of_block) {}

  // Of the block's rows: the thread's i-th of tile t.
  __device__ __forceinline__ unsigned row_of(unsigned t, unsigned i) const {
    return warp * kRowsOfWarp + t * 16 + thread / 4 + 8 * i;
  }

  // products[t][n][i]: row t · 16 + thread / 4 + 8 · (i / 2), key 8 n + 2 · (thread % 4) + i % 2.
  __device__ __forceinline__ void multiply_keys(float (&products)[kTiles][kKeys / 8][4]) const {
#pragma unroll
    for (unsigned step = 0; step < kSteps; ++step) {
      std::uint32_t query[kTiles][4];
#pragma unroll
      for (unsigned t = 0; t < kTiles; ++t) {
        const unsigned row = warp * kRowsOfWarp + t * 16 + thread % 16;
        load_matrices<false>(piece_of(memory.queries[row], row, 2 * step + thread / 16), query[t]);
      }
#pragma unroll
      for (unsigned n = 0; n < kKeys / 8; n += 2) {
        const unsigned key = n * 8 + thread / 16 * 8 + thread % 8;
        std::uint32_t four[4];
        load_matrices<false>(piece_of(memory.keys[key], key, 2 * step + thread / 8 % 2), four);
#pragma unroll
        for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
          for (unsigned i = 0; i < 2; ++i)
            multiply_add(products[t][n + i], query[t], {four[2 * i], four[2 * i + 1]});
      }
    }
  }

  // Products become logits, in all: soft cap, counts of merged tokens, what a row does not see.
  __device__ __forceinline__ void make_logits(const TokenSource& source, unsigned first,
                                              bool all_seen,
                                              float (&logits)[kTiles][kKeys / 8][4]) const {
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t) {
#pragma unroll
      for (auto& of_keys : logits[t])
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) of_keys[i] *= memory.factors[row_of(t, i / 2)];
      cap_logits(rows.soft_cap, logits[t]);
    }
#pragma unroll
    for (unsigned n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (unsigned c = 0; c < 2; ++c) {
        const unsigned token = first + n * 8 + thread % 4 * 2 + c;
        const bool lives = is_live(source, token);
        const std::int32_t at = lives ? source.positions[token] + source.shift : 0;
        const float bias = lives && source.log_counts != nullptr ? source.log_counts[token] : 0.0f;
#pragma unroll
        for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
          for (unsigned i = 0; i < 2; ++i) {
            float& logit = logits[t][n][2 * i + c];
            logit += bias;
            if (!lives || (!all_seen && !can_attend(rows, memory.positions[row_of(t, i)], at)))
              logit = kNothing;
          }
      }
  }

  // Logits, or products where nothing but the factor makes them logits, become weights; what was
  // summed before is corrected.
  __device__ __forceinline__ void take(unsigned t, bool are_products,
                                       float (&logits)[kKeys / 8][4]) {
    float(&most)[2] = softmax[t].most;
    float(&sum)[2] = softmax[t].sum;
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      const float times = are_products ? memory.factors[row_of(t, i)] : 1.0f;
      float largest = kNothing;
#pragma unroll
      for (unsigned n = 0; n < kKeys / 8; ++n)
        largest = fmaxf(largest, fmaxf(logits[n][2 * i], logits[n][2 * i + 1]));
      largest = fmaxf(most[i], quad_max(largest) * times);
      const float base = largest == kNothing ? 0 : largest * kLog2OfE;
      // Rounded as `base` is, so that it is 1 where the largest stays.
      const float correction = exp2_of(most[i] * kLog2OfE - base);
      most[i] = largest;
      const float by = times * kLog2OfE, less = kHeadroom - base;
      float added = 0;
#pragma unroll
      for (unsigned n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (unsigned k = 2 * i; k < 2 * i + 2; ++k) {
          logits[n][k] = exp2_of(fmaf(logits[n][k], by, less));
          added += logits[n][k];
        }
      sum[i] = fmaf(sum[i], correction, added);
      if (__ballot_sync(~0u, correction != 1) == 0) continue;  // as for most tiles
#pragma unroll
      for (unsigned c = 0; c < 2 * kSteps; ++c)
        for (unsigned k = 2 * i; k < 2 * i + 2; ++k) outputs[t][c][k] *= correction;
    }
  }

  __device__ __forceinline__ void add_values(const float (&weights)[kTiles][kKeys / 8][4]) {
#pragma unroll
    for (unsigned k = 0; k < kKeys / 16; ++k) {
      std::uint32_t a[kTiles][4];
#pragma unroll
      for (unsigned t = 0; t < kTiles; ++t)
        for (unsigned r = 0; r < 4; ++r) {
          const float(&two)[4] = weights[t][2 * k + r / 2];
          a[t][r] = nearest_pair(two[r % 2 * 2], two[r % 2 * 2 + 1]);
        }
#pragma unroll
      for (unsigned c = 0; c < 2 * kSteps; c += 2) {
        const unsigned key = k * 16 + thread % 16;
        std::uint32_t four[4];
        load_matrices<true>(piece_of(memory.values[key], key, c + thread / 16), four);
#pragma unroll
        for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
          for (unsigned i = 0; i < 2; ++i)
            multiply_add(outputs[t][c + i], a[t], {four[2 * i], four[2 * i + 1]});
      }
    }
  }

  // Whether products are logits but for the factor.
  __device__ __forceinline__ bool are_logits(const TokenSource& source, unsigned first,
                                             bool all_seen) const {
    static_assert(kKeys == 64);
    const bool all_live =
        source.is_page ? source.live[first / kKeys] == ~0ull : first + kKeys <= source.n_tokens;
    return all_seen && all_live && source.log_counts == nullptr && !(rows.soft_cap > 0);
  }
  __device__ __forceinline__ void put(const RowsCall& call, unsigned first_row,
                                      unsigned split) const {
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t)
      put_rows<true>(call, memory.item, OwnRows(rows, first_row + warp * kRowsOfWarp + t * 16),
                     softmax[t], outputs[t], split);
  }
};

template <unsigned kSteps>
__global__ void __launch_bounds__(kThreads, 2) attend_halves(const RowsCall call) {
  wait_for_launch_before();
  const RowsItem& there = call.items[blockIdx.y];
  const auto n_rows = static_cast<unsigned>(there.n_rows());
  const unsigned n_blocks = (n_rows + kRows - 1) / kRows, split = blockIdx.z;
  if (blockIdx.x >= n_blocks || split >= there.n_splits) return;
  auto& memory = shared_memory<Memory<kSteps>>();
  copy_for_block(memory.item, there);
  const RowsItem& item = memory.item;
  const LaneRows& rows = item.rows;
  // The last rows see most: they begin first.
  const unsigned first_row = (n_blocks - 1 - blockIdx.x) * kRows;
  const unsigned end_row = first_row + kRows < n_rows ? first_row + kRows : n_rows;
  const PositionRange of_block = {rows.positions[first_row / rows.n_group],
                                  rows.positions[(end_row - 1) / rows.n_group]};
  const unsigned first_tile = item.first_tile + split * item.tiles_of_split;
  const unsigned all_tiles = item.first_tile + item.n_tiles;
  const unsigned end_tile =
      first_tile + item.tiles_of_split < all_tiles ? first_tile + item.tiles_of_split : all_tiles;
  // Past the last that one again.
  const auto tile_at = [&](unsigned i) {
    const KeyTile at = call.tiles[i < end_tile ? i : end_tile - 1];
    SeenTile tile{.i = i, .source = at.source, .first = at.first};
    tile.positions = positions_of(call.sources[at.source], at.first, Memory<kSteps>::kKeys);
    return tile;
  };
  const auto seen_from = [&](SeenTile tile) {
    while (tile.i < end_tile && none_sees_any(rows, of_block, tile.positions))
      tile = tile_at(tile.i + 1);
    return tile;
  };
  const auto copy = [&](const SeenTile& tile, bool are_keys) {
    const TokenSource& source = call.sources[tile.source];
    copy_rows(are_keys ? memory.keys : memory.values,
              (are_keys ? source.k : source.v) + std::size_t{tile.first} * rows.head_dim * 2,
              source.n_tokens - tile.first, rows.head_dim);
  };

  SeenTile tile{.i = end_tile};
  if (first_tile < end_tile) tile = seen_from(tile_at(first_tile));
  if (tile.i < end_tile) copy(tile, true);
  load_queries<kSteps>(rows, first_row, memory);
  __syncthreads();
  HalvesBlock<kSteps> block(memory);
  while (tile.i < end_tile) {
    wait_for_copies<0>();
    __syncthreads();  // keys are there; nobody reads the values of before
    copy(tile, false);
    const bool all_seen = all_see_all(rows, of_block, tile.positions);
    const bool are_products = block.are_logits(call.sources[tile.source], tile.first, all_seen);
    const SeenTile behind = tile_at(tile.i + 1);  // on its way while keys are multiplied
    float weights[kTiles][Memory<kSteps>::kKeys / 8][4] = {};
    block.multiply_keys(weights);
    if (!are_products) block.make_logits(call.sources[tile.source], tile.first, all_seen, weights);
    const SeenTile next = seen_from(behind);
    wait_for_copies<0>();
    __syncthreads();  // values are there; nobody reads the keys any more
    if (next.i < end_tile) copy(next, true);
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t) block.take(t, are_products, weights[t]);
    block.add_values(weights);
    tile = next;
  }
  block.put(call, first_row, split);
}

template <unsigned kSteps>
cudaError_t attend_with(Queue& queue, const RowsCall& call, const RowsShape& shape) {
  return launch_stretches(shape.n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(shape.n_rows_max, kRows), n,
                    static_cast<unsigned>(shape.n_splits_max));
    return launch(queue, {grid, kThreads, sizeof(Memory<kSteps>)}, attend_halves<kSteps>,
                  from_item(call, first));
  });
}

}  // namespace

bool takes_prefill_halves(const RowsShape& shape) {
  const std::size_t n_bytes = shape.head_dim <= 64 ? sizeof(Memory<4>) : sizeof(Memory<8>);
  return shape.has_values && !shape.has_pages && shape.head_dim <= 128 && shape.head_dim % 8 == 0 &&
         n_bytes <= shape.shared_bytes;
}

cudaError_t attend_prefill_halves(Queue& queue, const RowsCall& call, const RowsShape& shape) {
  if (shape.head_dim <= 64) return attend_with<4>(queue, call, shape);
  if (shape.head_dim <= 96) return attend_with<6>(queue, call, shape);
  return attend_with<8>(queue, call, shape);
}

}  // namespace satchel::kernels::cuda
