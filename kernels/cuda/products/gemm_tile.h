// A block of rows of a weight times some tokens' halves: what the kernels of GEMM share. For .cu
// files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/async_copy.h"
#include "kernels/cuda/primitives/load_matrix.h"
#include "kernels/cuda/primitives/mma.h"
#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/products/half_factors.h"
#include "kernels/cuda/products/half_rows.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kGemmWarps = 4, kGemmThreads = kGemmWarps * kWarp;
inline constexpr unsigned kStages = 3;
inline constexpr unsigned kTokensOfFragment = 8;
inline constexpr float kBack = 1.0f / (1u << 2 * kHalvesExponent);
inline constexpr unsigned kPieces = kChunkValues * 2 / 16;  // of 16 bytes, of a token's chunk

template <unsigned kTokens>
struct Stage {
  uint4 pieces[kTokens][kPieces];  // piece p of token t at p ^ t % 8
};

// Of a warp: kTiles of 16 rows each, for all of the block's tokens.
template <WeightType kType, unsigned kTiles, unsigned kTokens>
struct WarpProducts {
  static constexpr unsigned kFragments = kTokens / kTokensOfFragment;
  float factors[kTiles][kRowsOfThread];
  float sums[kTiles][kFragments][4] = {};

  __device__ __forceinline__ WarpProducts(const ProductPart& part, unsigned first_tile) {
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
      for (unsigned i = 0; i < kRowsOfThread; ++i) {
        const unsigned row = (first_tile + t) * kTileRows + threadIdx.x % kWarp / 4 + 8 * i;
        factors[t][i] = row < part.n_out ? part.factors[row] : 1.0f;
      }
  }

  __device__ __forceinline__ void add(const HalfRows<kType> (&rows)[kTiles],
                                      const Stage<kTokens>& stage) {
    const unsigned thread = threadIdx.x % kWarp;
    const unsigned token = thread / 16 * 8 + thread % 8;  // whose address this thread gives
#pragma unroll
    for (unsigned s = 0; s < kChunkSteps; ++s) {
      HalfStep a[kTiles];
#pragma unroll
      for (unsigned t = 0; t < kTiles; ++t) rows[t].step(s, factors[t], a[t]);
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned piece = ((2 * s + half) * 2 + thread / 8 % 2) ^ token % 8;
#pragma unroll
        for (unsigned f = 0; f < kFragments; f += 2) {
          std::uint32_t b[4];
          load_matrices<false>(reinterpret_cast<const std::byte*>(
                                   &stage.pieces[f * kTokensOfFragment + token][piece]),
                               b);
#pragma unroll
          for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
            for (unsigned i = 0; i < 2; ++i)
              multiply_add(sums[t][f + i], a[t][half], {b[2 * i], b[2 * i + 1]});
        }
      }
    }
  }

  // To the product, or to `parts` [n_tokens, n_out] of a split. Tokens of the block: has(i), its
  // row(i) of the operands, its row out(i) of the product.
  template <class Tokens>
  __device__ __forceinline__ void put(const ProductPart& part, const HalfOperands& operands,
                                      unsigned first_tile, const Tokens& tokens,
                                      float* parts) const {
    const unsigned thread = threadIdx.x % kWarp;
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
      for (unsigned f = 0; f < kFragments; ++f)
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
          const unsigned row = (first_tile + t) * kTileRows + thread / 4 + i / 2 * 8;
          const unsigned token = f * kTokensOfFragment + thread % 4 * 2 + i % 2;
          if (row >= part.n_out || !tokens.has(token)) continue;
          // of values whose largest is 1 to 2; then the sizes, whose product may be any number
          const float sum = sums[t][f][i] * kBack;
          const float whole = sum * operands.sizes[tokens.row(token)] * size_of(factors[t][i / 2]);
          if (parts != nullptr)
            parts[std::size_t{tokens.out(token)} * part.n_out + row] = whole;
          else
            part.put(tokens.out(token), row, whole);
        }
  }
};

struct ChunkRange {
  unsigned first, end, n_all;  // of the block, and of a row
};

// Copy brings tokens to a stage, chunk by chunk from the first on.
template <WeightType kType, unsigned kTiles, unsigned kTokens, class Group, class Copy>
__device__ __forceinline__ void multiply_chunks(const Group& group, const ProductPart& part,
                                                unsigned first_tile, const ChunkRange& chunks,
                                                Copy& tokens,
                                                WarpProducts<kType, kTiles, kTokens>& products) {
  auto& stages = shared_memory<Stage<kTokens>[kStages]>();
  // Past the last tile that one again, and past the last chunk: what nobody uses is loaded too.
  const unsigned last_tile = (part.n_out - 1) / kTileRows;
  HalfRows<kType> next[kTiles];
  const auto load_rows = [&](unsigned chunk) {
    const unsigned there = chunk < chunks.n_all ? chunk : chunks.n_all - 1;
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t) {
      const unsigned tile = first_tile + t;
      next[t].load(group, part, tile < last_tile ? tile : last_tile, there);
    }
  };
  load_rows(chunks.first);
#pragma unroll
  for (unsigned i = 0; i + 1 < kStages; ++i) {
    if (chunks.first + i < chunks.end) tokens.copy(stages[i]);
    commit_copies();
  }
  unsigned stage = 0;
  for (unsigned chunk = chunks.first; chunk < chunks.end; ++chunk) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // this chunk is there, and nobody reads the one that is overwritten
    if (chunk + kStages - 1 < chunks.end) tokens.copy(stages[stage == 0 ? kStages - 1 : stage - 1]);
    commit_copies();
    HalfRows<kType> rows[kTiles];
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t) rows[t] = next[t];
    load_rows(chunk + 1);
    products.add(rows, stages[stage]);
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
}

}  // namespace satchel::kernels::cuda
