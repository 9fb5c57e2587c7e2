// Products of tiles with few tokens. Memory bandwidth limits them, so each weight is read once and
// used at once.
#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/products/group_sum.h"
#include "kernels/cuda/products/product_group.h"
#include "kernels/cuda/products/thread_chunk.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = kParts * kWarp;  // a warp a part of the rows

template <unsigned kSets>
using PartSums = float[kParts][kSets * kTokensOfSet][kTileRows];

// Where a thread finds the tokens of a chunk; columns without a token are not read.
struct ThreadTokens {
  const uint2* fragments;
  const StepOfToken* steps;
  unsigned n_sets;
  unsigned n_tokens;  // from the thread's own on, in its column of each set

  __device__ ThreadTokens(const Operands& from, unsigned n_all, unsigned chunk, unsigned thread)
      : fragments(from.fragments + std::size_t{chunk * kChunkSteps} * from.n_sets * kWarp + thread),
        steps(from.steps + std::size_t{chunk * kChunkSteps} * from.n_sets * kTokensOfSet +
              thread % kTokensOfSet),
        n_sets(from.n_sets),
        n_tokens(n_all > thread / 8 ? n_all - thread / 8 : 0) {}
  __device__ __forceinline__ void walk() {
    fragments += kParts * kChunkSteps * n_sets * kWarp;
    steps += kParts * kChunkSteps * n_sets * kTokensOfSet;
  }
  __device__ __forceinline__ uint2 fragment(unsigned step, unsigned set) const {
    if (set * kTokensOfSet >= n_tokens) return {0, 0};
    return fragments[(step * n_sets + set) * kWarp];
  }
  __device__ __forceinline__ StepOfToken token(unsigned step, unsigned set) const {
    return steps[(step * n_sets + set) * kTokensOfSet];
  }
};

template <WeightType kType, unsigned kSets>
__device__ __forceinline__ void add_chunk(const ThreadChunk<kType>& from,
                                          const ThreadTokens& tokens, float (&acc)[kSets][2]) {
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

// The parts' sums, in order, where they belong.
template <unsigned kSets>
__device__ __forceinline__ void put_sums(const float (&acc)[kSets][2], const ProductPart& part,
                                         unsigned tile, unsigned n_tokens) {
  const unsigned warp = threadIdx.x / kWarp, thread = threadIdx.x % kWarp;
  auto& sums = shared_memory<PartSums<kSets>>();
  for (unsigned s = 0; s < kSets; ++s)
    for (unsigned i = 0; i < 2; ++i)
      sums[warp][s * kTokensOfSet + thread % 4][thread / 4 + 8 * i] = acc[s][i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTileRows * kSets * kTokensOfSet; i += kThreads) {
    const unsigned of_tile = i % kTileRows, token = i / kTileRows;
    const unsigned row = tile * kTileRows + of_tile;
    if (token >= n_tokens || row >= part.n_out) continue;
    float sum = 0;
    for (unsigned p = 0; p < kParts; ++p) sum += sums[p][token][of_tile];
    part.put(token, row, sum);
  }
}

// A block a tile, and all tokens.
template <WeightType kType, unsigned kSets>
__global__ void __launch_bounds__(kThreads, kSets == 1 ? 4 : 2)
    gemv_kernel(ProductGroup group, Operands operands) {
  const unsigned thread = threadIdx.x % kWarp;
  const ProductPart part = group.part_of(blockIdx.x);
  const unsigned tile = blockIdx.x - part.first_block;
  const std::byte* bytes = part.bytes + std::size_t{tile} * group.plan.tile_bytes;
  const unsigned n_chunks = group.plan.n_chunks;
  float acc[kSets][2] = {};
  unsigned chunk = threadIdx.x / kWarp;
  ThreadPlanes<kType> planes(bytes, group.plan, chunk, thread, thread / 4);
  ThreadTokens tokens(operands, group.n_tokens, chunk, thread);
  // Asked for while the chunk before it is worked on. Two or three were a fifth slower on an H200:
  // they take registers, and so a fourth block of a multiprocessor.
  ThreadChunk<kType> next;
  if (chunk < n_chunks) next.template load<Reads::once>(planes);
  wait_for_launch_before();  // weights do not change: only tokens are waited for
  for (; chunk < n_chunks; chunk += kParts) {
    const ThreadChunk<kType> here = next;
    planes.template walk<kParts>();
    if (chunk + kParts < n_chunks) next.template load<Reads::once>(planes);
    add_chunk<kType, kSets>(here, tokens, acc);
    tokens.walk();
  }
  put_sums<kSets>(acc, part, tile, group.n_tokens);
}

template <WeightType kType, unsigned kSets>
cudaError_t multiply_sets(Queue& queue, std::span<const Product> products, const Operands& operands,
                          std::size_t n_tokens) {
  unsigned n_blocks = 0;
  const ProductGroup group = group_of(products, n_tokens, kTileRows, n_blocks);
  return launch(queue, {n_blocks, kThreads, sizeof(PartSums<kSets>)}, gemv_kernel<kType, kSets>,
                group, operands);
}

}  // namespace

cudaError_t multiply_gemv(Queue& queue, std::span<const Product> products, const Operands& operands,
                          std::size_t n_tokens) {
  return with_tile_type(products[0].weight->type, [&](auto type) {
    constexpr WeightType kType = decltype(type)::value;
    if (n_tokens <= kTokensOfSet)
      return multiply_sets<kType, 1>(queue, products, operands, n_tokens);
    return multiply_sets<kType, 4>(queue, products, operands, n_tokens);
  });
}

}  // namespace satchel::kernels::cuda
