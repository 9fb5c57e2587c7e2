// Products of tiles (tile_layout.h): weights as operand A, tokens as columns.
#include "kernels/cuda/codes.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/mma.h"
#include "kernels/cuda/scales.h"
#include "kernels/cuda/shared_memory.h"
#include "kernels/cuda/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 8, kThreads = kWarps * kWarp;  // they share a tile's chunks

template <unsigned kSets>
struct PartSums {
  float of[kWarps][kTileRows][kSets * kColumns];
};

// What a lane has of a step's operand B and of the sums that go with its outputs' columns. Columns
// without a token are 0, whatever lies there.
struct Columns {
  const Operands& from;
  unsigned n_sets, set, n_tokens, lane;

  __device__ __forceinline__ bool has(unsigned column) const {
    return set * kTokensOfSet + column % kTokensOfSet < n_tokens;
  }
  __device__ __forceinline__ void fragment(unsigned step, std::uint32_t (&b)[2]) const {
    uint2 both = {0, 0};
    if (has(lane / 4)) both = from.fragments[(std::size_t{step} * n_sets + set) * kLanes + lane];
    b[0] = both.x, b[1] = both.y;
  }
  __device__ __forceinline__ float sum(unsigned step, unsigned i) const {
    const unsigned column = lane % 4 * 2 + i;
    if (!has(column)) return 0;
    return from.sums[(std::size_t{step} * n_sets + set) * kColumns + column];
  }
};

// Adds a chunk to acc: (row lane / 4 + 8 · (i / 2), column 2 · (lane % 4) + i % 2) of each set.
template <WeightType kType, unsigned kSets>
__device__ __forceinline__ void add_chunk(const std::byte* tile, const TilePlan& plan,
                                          unsigned chunk, Columns columns, float (&acc)[kSets][4]) {
  constexpr TileShape kShape = tile_shape(kType);
  constexpr unsigned kSteps = kShape.group_values / kStepValues;  // of a group
  const unsigned lane = columns.lane, first_set = columns.set;
  Codes<kType> codes;
  codes.load(tile, plan, chunk, lane);
  Scales<kType> scales[2];
  for (unsigned i = 0; i < 2; ++i) scales[i].load(tile, plan, chunk, lane / 4 + 8 * i);
#pragma unroll
  for (unsigned g = 0; g < kShape.groups(); ++g) {
    std::uint32_t a[kSteps][4];
    for (unsigned s = 0; s < kSteps; ++s) codes.step(g * kSteps + s, a[s]);
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      columns.set = first_set + set;
      float sums[4] = {}, of_column[2] = {};
      for (unsigned s = 0; s < kSteps; ++s) {
        const unsigned step = chunk * kChunkSteps + g * kSteps + s;
        std::uint32_t b[2];
        columns.fragment(step, b);
        multiply_add(sums, a[s], b);
        if constexpr (kShape.has_minimum)
          for (unsigned i = 0; i < 2; ++i) of_column[i] += columns.sum(step, i);
      }
      for (unsigned i = 0; i < 4; ++i) {
        acc[set][i] = fmaf(scales[i / 2].scale[g], sums[i], acc[set][i]);
        if constexpr (kShape.has_minimum)
          acc[set][i] = fmaf(scales[i / 2].minimum[g], of_column[i % 2], acc[set][i]);
      }
    }
  }
}

// A block a tile and kSets sets of columns.
template <WeightType kType, unsigned kSets>
__global__ void __launch_bounds__(kThreads)
    multiply_tiles(DeviceMatrix weight, Operands operands, unsigned n_tokens, float* out) {
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const unsigned n_sets = (n_tokens + kTokensOfSet - 1) / kTokensOfSet, set = blockIdx.y * kSets;
  const std::byte* tile = weight.bytes + std::size_t{blockIdx.x} * weight.plan.tile_bytes;
  float acc[kSets][4] = {};
  for (unsigned chunk = warp; chunk < weight.plan.n_chunks; chunk += kWarps)
    add_chunk<kType>(tile, weight.plan, chunk, {operands, n_sets, set, n_tokens, lane}, acc);

  auto& parts = shared_memory<PartSums<kSets>>();
  for (unsigned s = 0; s < kSets; ++s)
    for (unsigned i = 0; i < 4; ++i)
      parts.of[warp][lane / 4 + 8 * (i / 2)][s * kColumns + lane % 4 * 2 + i % 2] = acc[s][i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTileRows * kSets * kTokensOfSet; i += kThreads) {
    const unsigned row = i % kTileRows, of_block = i / kTileRows;
    const unsigned token = set * kTokensOfSet + of_block, to = blockIdx.x * kTileRows + row;
    if (token >= n_tokens || to >= weight.n_out) continue;
    const unsigned column = of_block / kTokensOfSet * kColumns + of_block % kTokensOfSet;
    float sum = 0;
    for (unsigned w = 0; w < kWarps; ++w)
      sum += parts.of[w][row][column] + parts.of[w][row][column + kTokensOfSet];
    out[std::size_t{token} * weight.n_out + to] = sum * operands.inverse[token];
  }
}

template <WeightType kType, unsigned kSets>
cudaError_t multiply_sets(cudaStream_t stream, const DeviceMatrix& weight, const Operands& operands,
                          unsigned n_tokens, float* out) {
  const dim3 grid(blocks_of(weight.n_out, kTileRows), blocks_of(n_tokens, kSets * kTokensOfSet));
  return launch(stream, {grid, kThreads, sizeof(PartSums<kSets>)}, multiply_tiles<kType, kSets>,
                weight, operands, n_tokens, out);
}

}  // namespace

// One instance a type and width: few tokens, and many.
template <WeightType kType>
cudaError_t multiply_type(cudaStream_t stream, const DeviceMatrix& weight, const Operands& operands,
                          unsigned n_tokens, float* out) {
  if (n_tokens <= kTokensOfSet)
    return multiply_sets<kType, 1>(stream, weight, operands, n_tokens, out);
  return multiply_sets<kType, 4>(stream, weight, operands, n_tokens, out);
}

cudaError_t multiply_tiles_of(cudaStream_t stream, const DeviceMatrix& weight,
                              const Operands& operands, std::size_t n_tokens, float* out) {
  return with_tile_type(weight.type, [&](auto type) {
    return multiply_type<decltype(type)::value>(stream, weight, operands,
                                                static_cast<unsigned>(n_tokens), out);
  });
}

}  // namespace satchel::kernels::cuda
