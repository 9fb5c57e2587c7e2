// A tile times few tokens: what the kernels of GEMV share. A block is a tile of 16 rows, a warp a
// part of them. Tokens say where a thread finds them: n_sets, fragment() and token() of a step and
// a set, walk() to the warp's next chunk. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/products/group_sum.h"
#include "kernels/cuda/products/product_group.h"
#include "kernels/cuda/products/thread_chunk.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kGemvThreads = kParts * kWarp;  // a warp a part of the rows

template <unsigned kSets>
using PartSums = float[kParts][kSets * kTokensOfSet][kTileRows];

template <WeightType kType, unsigned kSets, class Tokens>
__device__ __forceinline__ void add_chunk(const ThreadChunk<kType>& from, const Tokens& tokens,
                                          float (&acc)[kSets][2]) {
  constexpr unsigned kGroups = kStepValues / tile_shape(kType).group_values;  // of a step
#pragma unroll
  for (unsigned s = 0; s < kChunkSteps; ++s) {
    std::uint32_t a[4];
    from.codes.step(s, a);
    RowPair rows[kGroups];
    for (unsigned g = 0; g < kGroups; ++g) rows[g] = from.rows(s * kGroups + g);
#pragma unroll
    for (unsigned i = 0; i < kSets; ++i) {
      if (kSets > 1 && i >= tokens.n_sets) break;
      add_step<kType>(a, tokens.fragment(s, i), tokens.token(s, i), rows, acc[i]);
    }
  }
}

// ready(): called before a token is read, when the first weights have been asked for.
template <WeightType kType, unsigned kSets, class Tokens, class Ready>
__device__ __forceinline__ void multiply_tile(const std::byte* tile, const TilePlan& plan,
                                              Tokens& tokens, const Ready& ready,
                                              float (&acc)[kSets][2]) {
  const unsigned thread = threadIdx.x % kWarp, n_chunks = plan.n_chunks;
  unsigned chunk = threadIdx.x / kWarp;
  ThreadPlanes<kType> planes(tile, plan, chunk, thread, thread / 4);
  // Asked for while the chunk before it is worked on. Two or three were a fifth slower on an H200:
  // they take registers, and so a fourth block of a multiprocessor.
  ThreadChunk<kType> next;
  if (chunk < n_chunks) next.template load<Reads::once>(planes);
  ready();
  for (; chunk < n_chunks; chunk += kParts) {
    const ThreadChunk<kType> here = next;
    planes.template walk<kParts>();
    if (chunk + kParts < n_chunks) next.template load<Reads::once>(planes);
    add_chunk<kType, kSets>(here, tokens, acc);
    tokens.walk();
  }
}

// The parts' sums, in order, where they belong. row_of(token): which row of the product it is.
template <unsigned kSets, class RowOf>
__device__ __forceinline__ void put_sums(const float (&acc)[kSets][2], const ProductPart& part,
                                         unsigned tile, unsigned n_tokens, const RowOf& row_of) {
  const unsigned warp = threadIdx.x / kWarp, thread = threadIdx.x % kWarp;
  auto& sums = shared_memory<PartSums<kSets>>();
  for (unsigned s = 0; s < kSets; ++s)
    for (unsigned i = 0; i < 2; ++i)
      sums[warp][s * kTokensOfSet + thread % 4][thread / 4 + 8 * i] = acc[s][i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTileRows * kSets * kTokensOfSet; i += kGemvThreads) {
    const unsigned of_tile = i % kTileRows, token = i / kTileRows;
    const unsigned row = tile * kTileRows + of_tile;
    if (token >= n_tokens || row >= part.n_out) continue;
    float sum = 0;
    for (unsigned p = 0; p < kParts; ++p) sum += sums[p][token][of_tile];
    part.put(row_of(token), row, sum);
  }
}

}  // namespace satchel::kernels::cuda
