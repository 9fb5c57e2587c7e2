// Products of tiles with few tokens. Memory bandwidth limits them, so each weight is read once and
// used at once.
#include "kernels/cuda/products/gemv_tile.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

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

// A block a tile, and all tokens.
template <WeightType kType, unsigned kSets>
__global__ void __launch_bounds__(kGemvThreads, kSets == 1 ? 4 : 2)
    gemv_kernel(ProductGroup group, Operands operands) {
  const ProductPart part = group.part_of(blockIdx.x);
  const unsigned tile = blockIdx.x - part.first_block;
  float acc[kSets][2] = {};
  ThreadTokens tokens(operands, group.n_tokens, threadIdx.x / kWarp, threadIdx.x % kWarp);
  // weights do not change: only tokens are waited for
  multiply_tile<kType, kSets>(
      part.bytes + std::size_t{tile} * group.plan.tile_bytes, group.plan, tokens,
      [] { wait_for_launch_before(); }, acc);
  put_sums<kSets>(acc, part, tile, group.n_tokens, [](unsigned token) { return token; });
}

template <WeightType kType, unsigned kSets>
cudaError_t multiply_sets(Queue& queue, std::span<const Product> products, const Operands& operands,
                          std::size_t n_tokens) {
  unsigned n_blocks = 0;
  const ProductGroup group = group_of(products, n_tokens, kTileRows, n_blocks);
  return launch(queue, {n_blocks, kGemvThreads, sizeof(PartSums<kSets>)}, gemv_kernel<kType, kSets>,
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
