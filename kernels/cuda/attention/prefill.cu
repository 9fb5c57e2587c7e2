#include "kernels/cuda/attention/prefill.h"

#include <algorithm>

#include "kernels/cuda/attention/prefill_steps.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/block_copy.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

// Of a block: its rows, and what they have met so far.
template <unsigned kSteps, bool kHasValues, bool kHasPages>
struct PrefillBlock {
  using F = PrefillForm<kSteps, kHasValues, kHasPages>;
  const TokenSources tables;
  const LaneRows& rows;
  typename F::Memory& memory;
  const PositionRange positions;
  const OwnRows own;
  PrefillQueries<F, kSteps> queries;
  PrefillSoftmax softmax;
  float outputs[kHasValues ? 2 * kSteps : 1][4];

  __device__ __forceinline__ PrefillBlock(const RowsCall& call, const RowsItem& item,
                                          PositionRange of_block, unsigned first_row,
                                          typename F::Memory& of_memory)
      : tables{call.sources, call.plans, reinterpret_cast<const CosineSine*>(call.rotations)},
        rows(item.rows),
        memory(of_memory),
        positions(of_block),
        own(item.rows, first_row + threadIdx.x / kWarp * 16),
        outputs() {
    queries.load(rows, own, memory);
  }

  // A tile that some row sees.
  __device__ __forceinline__ void attend(const TokenSource& source, unsigned first,
                                         PositionRange of_tile) {
    const unsigned n_steps = (rows.head_dim + 15) / 16;
    const bool plain_keys = !kHasPages || source.k_form == RowForm::halves;
    const bool plain_values = !kHasPages || source.v_form == RowForm::halves;
    const bool plain = plain_keys && plain_values;
    __syncthreads();  // nobody reads the tile before any more
    fill_places<F>(source, first, memory, kHasValues);
    fill_keys_of_warp(source, first);
    if (kHasValues && plain) fill_values_of_warp(source, first, memory.planes[1]);
    __syncthreads();
    float weights[F::kKeys / 8][4] = {};
    multiply_keys<F, kSteps>(queries, memory, n_steps, !plain_keys, weights);
    make_logits<F>(rows, own, queries.factor, memory, all_see_all(rows, positions, of_tile),
                   weights);
    float correction[2];
    softmax.take(weights, correction);
    if constexpr (kHasValues) {
      if (!plain) {
        __syncthreads();  // values take the keys' place
        fill_values_of_warp(source, first, memory.planes[0]);
        __syncthreads();
      }
#pragma unroll
      for (unsigned c = 0; c < 2 * kSteps; ++c)
        for (unsigned k = 0; k < 4; ++k) outputs[c][k] *= correction[k / 2];
      add_values<F, kSteps>(weights, memory.planes[plain ? 1 : 0],
                            plain_values ? nullptr : memory.planes[1], n_steps, outputs);
    }
  }

  __device__ __forceinline__ void put(const RowsCall& call, const RowsItem& item,
                                      unsigned split) const {
    put_rows<kHasValues>(call, item, own, softmax, outputs, split);
  }

 private:
  static constexpr unsigned kOfWarp = F::kKeys / kPrefillWarps;
  __device__ __forceinline__ void fill_keys_of_warp(const TokenSource& source, unsigned first) {
    const unsigned warp = threadIdx.x / kWarp, of_warp = warp * kOfWarp;
    fill_keys<kSteps, kOfWarp, kHasPages>(
        tables, source, first + of_warp, rows.head_dim, {rows.n_pairs, rows.adjacent_pairs},
        memory.planes[0] + of_warp * F::kKeyStride, memory.planes[1] + of_warp * F::kKeyStride,
        memory.row[warp]);
  }
  __device__ __forceinline__ void fill_values_of_warp(const TokenSource& source, unsigned first,
                                                      std::uint32_t* high) {
    const unsigned of_warp = threadIdx.x / kWarp * kOfWarp;
    fill_values<kSteps, kOfWarp, kHasPages>(tables, source, first + of_warp, rows.head_dim,
                                            high + of_warp / 2 * F::kValueStride,
                                            memory.planes[1] + of_warp / 2 * F::kValueStride);
  }
};

template <unsigned kSteps, bool kHasValues, bool kHasPages>
__global__ void __launch_bounds__(kPrefillThreads, 2) attend_tiles(const RowsCall call) {
  wait_for_launch_before();
  using Block = PrefillBlock<kSteps, kHasValues, kHasPages>;
  const RowsItem& there = call.items[blockIdx.y];
  const auto n_rows = static_cast<unsigned>(there.n_rows());
  const unsigned n_blocks = (n_rows + kRowsOfBlock - 1) / kRowsOfBlock, split = blockIdx.z;
  if (blockIdx.x >= n_blocks || split >= there.n_splits) return;
  auto& memory = shared_memory<typename Block::F::Memory>();
  copy_for_block(memory.item, there);
  const RowsItem& item = memory.item;
  const LaneRows& rows = item.rows;
  // The last rows see most: they begin first.
  const unsigned first_row = (n_blocks - 1 - blockIdx.x) * kRowsOfBlock;
  const unsigned end_row = first_row + kRowsOfBlock < n_rows ? first_row + kRowsOfBlock : n_rows;
  const PositionRange of_block = {rows.positions[first_row / rows.n_group],
                                  rows.positions[(end_row - 1) / rows.n_group]};
  Block block(call, item, of_block, first_row, memory);
  const unsigned first_tile = item.first_tile + split * item.tiles_of_split;
  const unsigned all_tiles = item.first_tile + item.n_tiles;
  const unsigned end_tile =
      first_tile + item.tiles_of_split < all_tiles ? first_tile + item.tiles_of_split : all_tiles;
  for (unsigned i = first_tile; i < end_tile; ++i) {
    const KeyTile tile = call.tiles[i];
    const TokenSource& source = call.sources[tile.source];
    const PositionRange of_tile = positions_of(source, tile.first, Block::F::kKeys);
    if (!none_sees_any(rows, of_block, of_tile)) block.attend(source, tile.first, of_tile);
  }
  block.put(call, item, split);
}

template <unsigned kSteps, bool kHasValues, bool kHasPages>
cudaError_t attend_with(Queue& queue, const RowsCall& call, const RowsShape& shape) {
  using Memory = typename PrefillForm<kSteps, kHasValues, kHasPages>::Memory;
  return launch_stretches(shape.n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(shape.n_rows_max, kRowsOfBlock), n,
                    static_cast<unsigned>(shape.n_splits_max));
    return launch(queue, {grid, kPrefillThreads, sizeof(Memory)},
                  attend_tiles<kSteps, kHasValues, kHasPages>, from_item(call, first));
  });
}

template <unsigned kSteps, bool kHasValues>
cudaError_t attend_steps(Queue& queue, const RowsCall& call, const RowsShape& shape) {
  // Rows of fp16 alone have a kernel of their own up to 128 channels; where it does not fit, they
  // are taken for pages.
  if constexpr (!kHasValues || kSteps > 8)
    if (!shape.has_pages) return attend_with<kSteps, kHasValues, false>(queue, call, shape);
  return attend_with<kSteps, kHasValues, true>(queue, call, shape);
}
template <bool kHasValues>
cudaError_t attend_any(Queue& queue, const RowsCall& call, const RowsShape& shape) {
  if (shape.head_dim <= 64) return attend_steps<4, kHasValues>(queue, call, shape);
  if (shape.head_dim <= 128) return attend_steps<8, kHasValues>(queue, call, shape);
  return attend_steps<16, kHasValues>(queue, call, shape);
}

template <unsigned kSteps>
constexpr std::size_t kBytesMost =
    std::max(sizeof(typename PrefillForm<kSteps, true, false>::Memory),
             sizeof(typename PrefillForm<kSteps, true, true>::Memory));
// Of sm_75.
static_assert(std::max(kBytesMost<4>, kBytesMost<8>) <= 64 * 1024);
static_assert(sizeof(PrefillForm<16, false, true>::Memory) <= 64 * 1024);

}  // namespace

std::size_t prefill_shared_bytes(std::size_t head_dim) {
  return head_dim <= 64 ? kBytesMost<4> : head_dim <= 128 ? kBytesMost<8> : kBytesMost<16>;
}

cudaError_t attend_prefill(Queue& queue, const RowsCall& call, const RowsShape& shape) {
  const auto attend = takes_prefill_halves(shape) ? attend_prefill_halves
                      : shape.has_values          ? attend_any<true>
                                                  : attend_any<false>;
  const cudaError_t error = attend(queue, call, shape);
  if (error != cudaSuccess || shape.n_splits_max == 1) return error;
  return merge_splits(queue, call, shape);
}

}  // namespace satchel::kernels::cuda
