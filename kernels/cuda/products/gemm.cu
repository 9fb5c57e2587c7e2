// Products of tiles with many tokens: a block unpacks a chunk of 128 rows once into shared memory
// and uses it for 64 tokens, while the next is on its way. Chunks are walked part by part
// (group_sum.h), so that sums are those of multiply_gemv().
#include "kernels/cuda/primitives/async_copy.h"
#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/products/codes.h"
#include "kernels/cuda/products/group_sum.h"
#include "kernels/cuda/products/product_group.h"
#include "kernels/cuda/products/scales.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 8, kThreads = kWarps * kWarp;
constexpr unsigned kTiles = kWarps, kSets = 16;        // of a block
constexpr unsigned kTilesOfWarp = 2, kSetsOfWarp = 8;  // 4 x 2 warps
constexpr unsigned kWarpsOfTiles = kTiles / kTilesOfWarp;
static_assert(kWarpsOfTiles * (kSets / kSetsOfWarp) == kWarps);

// Of a multiprocessor: what its shared memory holds.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr unsigned kBlocksBeside = 1;
#else
constexpr unsigned kBlocksBeside = 2;
#endif

template <WeightType kType>
constexpr unsigned kGroupsOfStep = kStepValues / tile_shape(kType).group_values;

// A chunk as the matrix instruction takes it, of all the block's rows and tokens.
template <WeightType kType>
struct Stage {
  uint4 a[kChunkSteps][kTiles][kWarp];
  uint2 b[kChunkSteps][kSets][kWarp];
  StepOfToken tokens[kChunkSteps][kSets][kTokensOfSet];
  float rows[kChunkSteps * kGroupsOfStep<kType>][tile_shape(kType).kinds()][kTiles][kTileRows];
};
// What of the products a block works for.
struct Place {
  ProductPart part;
  unsigned first_tile, n_tiles;  // of the product; tiles past its last are 0
  unsigned first_set, n_sets;    // of the operands

  __device__ Place(const ProductGroup& group, const Operands& operands)
      : part(group.part_of(row_block())),
        first_tile((row_block() - part.first_block) * kTiles),
        n_tiles((part.n_out + kTileRows - 1) / kTileRows),
        first_set(blockIdx.x * kSets),
        n_sets(operands.n_sets) {}
};

template <unsigned kPieces>  // of 16 bytes, of a set
__device__ __forceinline__ void copy_sets(void* to, const void* from, unsigned n_sets) {
  for (unsigned i = threadIdx.x; i < kPieces * n_sets; i += kThreads)
    copy_16_bytes_async(static_cast<std::byte*>(to) + i * 16,
                        static_cast<const std::byte*>(from) + i * 16);
}

// The tokens' side of a chunk, on its way.
template <WeightType kType>
__device__ __forceinline__ void copy_tokens(Stage<kType>& stage, const Operands& from,
                                            const Place& place, unsigned chunk) {
  const unsigned left = place.n_sets - place.first_set, n_sets = left < kSets ? left : kSets;
  for (unsigned s = 0; s < kChunkSteps; ++s) {
    const std::size_t set = std::size_t{chunk * kChunkSteps + s} * place.n_sets + place.first_set;
    copy_sets<kWarp * sizeof(uint2) / 16>(stage.b[s], from.fragments + set * kWarp, n_sets);
    copy_sets<kTokensOfSet * sizeof(StepOfToken) / 16>(stage.tokens[s],
                                                       from.steps + set * kTokensOfSet, n_sets);
  }
  commit_copies();
}

// The weights' side: a warp a tile, a thread its codes and a row's scales.
template <WeightType kType>
struct TileChunk {
  Codes<kType> codes = {};
  Scales<kType> scales = {};

  __device__ __forceinline__ void load(const ProductGroup& group, const Place& place,
                                       unsigned chunk) {
    const unsigned tile = place.first_tile + threadIdx.x / kWarp, thread = threadIdx.x % kWarp;
    if (tile >= place.n_tiles) return;
    const ThreadPlanes<kType> from(place.part.bytes + std::size_t{tile} * group.plan.tile_bytes,
                                   group.plan, chunk, thread, thread % kTileRows);
    codes.template load<Reads::again>(from);
    scales.template load<Reads::again>(from);
  }
  __device__ __forceinline__ void unpack(Stage<kType>& stage) const {
    constexpr TileShape kShape = tile_shape(kType);
    const unsigned tile = threadIdx.x / kWarp, thread = threadIdx.x % kWarp;
    for (unsigned s = 0; s < kChunkSteps; ++s) {
      std::uint32_t a[4];
      codes.step(s, a);
      stage.a[s][tile][thread] = {a[0], a[1], a[2], a[3]};
    }
    if (thread >= kTileRows) return;
    for (unsigned g = 0; g < kShape.groups(); ++g) {
      stage.rows[g][0][tile][thread] = scales.scale(g);
      if constexpr (kShape.has_minimum) stage.rows[g][1][tile][thread] = scales.minimum(g);
    }
  }
};

using Sums = float[kSetsOfWarp][kTilesOfWarp][2];

template <WeightType kType>
__device__ __forceinline__ void add_stage(const Stage<kType>& stage, unsigned tile, unsigned set,
                                          unsigned n_sets, Sums& acc) {
  constexpr unsigned kGroups = kGroupsOfStep<kType>;
  const unsigned thread = threadIdx.x % kWarp, row = thread / 4;
#pragma unroll
  for (unsigned s = 0; s < kChunkSteps; ++s) {
    std::uint32_t a[kTilesOfWarp][4];
    RowPair rows[kTilesOfWarp][kGroups];
    for (unsigned t = 0; t < kTilesOfWarp; ++t) {
      const uint4 four = stage.a[s][tile + t][thread];
      a[t][0] = four.x, a[t][1] = four.y, a[t][2] = four.z, a[t][3] = four.w;
      for (unsigned g = 0; g < kGroups; ++g)
        for (unsigned i = 0; i < 2; ++i) {
          const auto& group = stage.rows[s * kGroups + g];
          rows[t][g].scale[i] = group[0][tile + t][row + 8 * i];
          if constexpr (tile_shape(kType).has_minimum)
            rows[t][g].minimum[i] = group[1][tile + t][row + 8 * i];
        }
    }
#pragma unroll
    for (unsigned i = 0; i < kSetsOfWarp; ++i) {
      if (i % 2 == 0 && i >= n_sets) break;  // two by two: the compiler may mix them
      const uint2 b = stage.b[s][set + i][thread];
      const StepOfToken token = stage.tokens[s][set + i][thread % kTokensOfSet];
      for (unsigned t = 0; t < kTilesOfWarp; ++t)
        add_step<kType>(a[t], b, token, rows[t], acc[i][t]);
    }
  }
}

// Part by part: every kParts-th chunk.
__device__ __forceinline__ unsigned chunk_behind(unsigned chunk, unsigned n_chunks) {
  return chunk + kParts < n_chunks ? chunk + kParts : chunk % kParts + 1;
}

__device__ __forceinline__ void put_sums(const Sums& sums, const Place& place, unsigned tile,
                                         unsigned set, unsigned n_tokens) {
  const unsigned thread = threadIdx.x % kWarp;
#pragma unroll
  for (unsigned s = 0; s < kSetsOfWarp; ++s)
    for (unsigned t = 0; t < kTilesOfWarp; ++t)
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned token = (place.first_set + set + s) * kTokensOfSet + thread % kTokensOfSet;
        const unsigned row = (place.first_tile + tile + t) * kTileRows + thread / 4 + 8 * i;
        if (token < n_tokens && row < place.part.n_out) place.part.put(token, row, sums[s][t][i]);
      }
}

// A block kTiles tiles and kSets sets. While a stage is used, the other is filled.
template <WeightType kType>
__global__ void __launch_bounds__(kThreads, kBlocksBeside)
    gemm_kernel(ProductGroup group, Operands operands) {
  wait_for_launch_before();
  const Place place(group, operands);
  const unsigned warp = threadIdx.x / kWarp, n_chunks = group.plan.n_chunks;
  const unsigned tile = warp % kWarpsOfTiles * kTilesOfWarp;
  const unsigned set = warp / kWarpsOfTiles * kSetsOfWarp;
  const unsigned behind = place.first_set + set;
  const unsigned n_sets =
      place.first_tile + tile < place.n_tiles && behind < place.n_sets ? place.n_sets - behind : 0;
  auto& stages = shared_memory<Stage<kType>[2]>();
  Sums acc = {}, sums = {};
  TileChunk<kType> weights;
  copy_tokens(stages[0], operands, place, 0);
  weights.load(group, place, 0);
  weights.unpack(stages[0]);
  wait_for_copies<0>();
  __syncthreads();
  unsigned chunk = 0;
  for (unsigned i = 0; i < n_chunks; ++i) {
    const unsigned next = chunk_behind(chunk, n_chunks);
    Stage<kType>& filled = stages[(i + 1) % 2];
    if (i + 1 < n_chunks) {
      copy_tokens(filled, operands, place, next);
      weights.load(group, place, next);
    }
    add_stage<kType>(stages[i % 2], tile, set, n_sets, acc);
    if (next % kParts != chunk % kParts || i + 1 == n_chunks) {
#pragma unroll
      for (unsigned s = 0; s < kSetsOfWarp; ++s)
        for (unsigned t = 0; t < kTilesOfWarp; ++t)
          for (unsigned r = 0; r < 2; ++r) sums[s][t][r] += acc[s][t][r], acc[s][t][r] = 0;
    }
    if (i + 1 < n_chunks) weights.unpack(filled);
    wait_for_copies<0>();
    __syncthreads();
    chunk = next;
  }
  put_sums(sums, place, tile, set, group.n_tokens);
}

}  // namespace

cudaError_t multiply_gemm(Queue& queue, std::span<const Product> products, const Operands& operands,
                          std::size_t n_tokens) {
  unsigned n_blocks = 0;
  const ProductGroup group = group_of(products, n_tokens, kTiles * kTileRows, n_blocks);
  const dim3 grid = grid_of(blocks_of(operands.n_sets, kSets), n_blocks);
  return with_tile_type(products[0].weight->type, [&](auto type) {
    constexpr WeightType kType = decltype(type)::value;
    return launch(queue, {grid, kThreads, sizeof(Stage<kType>[2])}, gemm_kernel<kType>, group,
                  operands);
  });
}

}  // namespace satchel::kernels::cuda
