// Products of a prompt's pairs with their experts' matrices: blocks as gemm.cu multiplies them,
// whose tokens are gathered through the experts' lists.
#include "kernels/cuda/experts/expert_group.h"
#include "kernels/cuda/products/gemm_tile.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

// Tokens of a block: pairs, and the rows of the operands that they are made of.
struct PairList {
  const std::uint32_t* pairs;
  unsigned n, pairs_of_row;
  __device__ __forceinline__ bool has(unsigned i) const { return i < n; }
  __device__ __forceinline__ unsigned row(unsigned i) const { return out(i) / pairs_of_row; }
  __device__ __forceinline__ unsigned out(unsigned i) const { return pairs[i]; }
};

// A thread's pieces of a chunk: one of every 16th token. Past the last pair the first one's again,
// which nobody uses.
template <unsigned kTokens>
struct GatheredCopy {
  static constexpr unsigned kTokensApart = kGemmThreads / kPieces;
  static constexpr unsigned kCopies = kTokens / kTokensApart;
  static_assert(kTokensApart % 8 == 0 && kTokens % kTokensApart == 0);
  const std::uint32_t* from[kCopies];

  __device__ __forceinline__ GatheredCopy(const HalfOperands& operands, const PairList& list) {
#pragma unroll
    for (unsigned i = 0; i < kCopies; ++i) {
      const unsigned token = threadIdx.x / kPieces + i * kTokensApart;
      from[i] = operands.pairs +
                std::size_t{list.row(list.has(token) ? token : 0)} * operands.words_of_row +
                threadIdx.x % kPieces * 4;
    }
  }
  __device__ __forceinline__ void copy(Stage<kTokens>& to) {
    const unsigned token = threadIdx.x / kPieces;
    const unsigned piece = threadIdx.x % kPieces ^ token % 8;
#pragma unroll
    for (unsigned i = 0; i < kCopies; ++i) {
      copy_16_bytes_async(&to.pieces[token + i * kTokensApart][piece], from[i]);
      from[i] += kChunkValues / 2;
    }
  }
};

template <WeightType kType>
constexpr unsigned kTilesOfWarp = tile_shape(kType).low_bits != 0 ? 2 : 1;

template <WeightType kType, unsigned kTokens>
__global__ void __launch_bounds__(kGemmThreads, 3)
    multiply_blocks(ExpertGroup group, HalfOperands operands, const ExpertBlock* blocks,
                    const std::uint32_t* pairs) {
  wait_for_launch_before();
  constexpr unsigned kTiles = kTilesOfWarp<kType>;
  const ExpertBlock of_tokens = blocks[blockIdx.x];
  if (of_tokens.n == 0) return;
  unsigned of_rows = blockIdx.y;
  const ProductPart part = group.part_of(of_tokens.expert, of_rows);
  const unsigned first_tile = (of_rows * kGemmWarps + threadIdx.x / kWarp) * kTiles;
  const PairList list{pairs + of_tokens.first, of_tokens.n, group.pairs_of_row};
  const unsigned n_chunks = operands.words_of_row * 2 / kChunkValues;
  WarpProducts<kType, kTiles, kTokens> products(part, first_tile);
  GatheredCopy<kTokens> copy(operands, list);
  multiply_chunks(group, part, first_tile, {0, n_chunks, n_chunks}, copy, products);
  products.put(part, operands, first_tile, list, nullptr);
}

template <WeightType kType, unsigned kTokens>
cudaError_t multiply_with(Queue& queue, const DeviceMatrix& like,
                          std::span<const ExpertProduct> products, const PromptInput& input) {
  const ExpertGroup group = expert_group(like, products, input.pairs_of_row,
                                         kGemmWarps * kTilesOfWarp<kType> * kTileRows);
  const dim3 grid(input.lists.n_blocks(), group.n_blocks);
  return launch(queue, {grid, kGemmThreads, sizeof(Stage<kTokens>[kStages])},
                multiply_blocks<kType, kTokens>, group, input.halves, input.lists.blocks,
                input.lists.pairs);
}

}  // namespace

cudaError_t multiply_prompt_experts(Queue& queue, const DeviceMatrix& like,
                                    std::span<const ExpertProduct> products,
                                    const PromptInput& input) {
  const auto multiply = [&](auto type) {
    constexpr WeightType kType = decltype(type)::value;
    if (input.lists.tokens_of_block == kFewTokensOfBlock)
      return multiply_with<kType, kFewTokensOfBlock>(queue, like, products, input);
    return multiply_with<kType, kPromptTokens>(queue, like, products, input);
  };
  return like.has_tiles() ? with_tile_type(like.type, multiply)
                          : with_float_type(like.type, multiply);
}

}  // namespace satchel::kernels::cuda
