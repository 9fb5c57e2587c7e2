// Products with the tokens of a prompt, on the fp16 matrix instruction. Weights never pass through
// shared memory: a warp has 16 or 32 rows for all the block's tokens, and unpacks them in the
// registers in which the instruction wants them. Tokens do, chunk by chunk, two chunks ahead.
//   order    a product is summed over rising k. Where that is too few blocks for the card, k is cut
//            into splits, which a second kernel adds in order
//   source   the bytes of a chunk lie as ldmatrix reads them without bank conflicts (Volta and
//            later: 16-byte pieces exchanged by the token's last three bits, as CUTLASS does)
#include <algorithm>

#include "kernels/cuda/products/gemm_tile.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

// A thread's pieces of a chunk: one of every 16th token.
template <unsigned kTokens>
struct TokenCopy {
  static constexpr unsigned kTokensApart = kGemmThreads / kPieces;
  static_assert(kTokensApart % 8 == 0 && kTokens % kTokensApart == 0);
  const std::uint32_t* from;
  const std::size_t words_apart;

  __device__ __forceinline__ TokenCopy(const HalfOperands& operands, unsigned first_token,
                                       unsigned chunk)
      : from(operands.pairs +
             std::size_t{first_token + threadIdx.x / kPieces} * operands.words_of_row +
             chunk * kChunkValues / 2 + threadIdx.x % kPieces * 4),
        words_apart(std::size_t{kTokensApart} * operands.words_of_row) {}
  // To a stage; the next time, the next chunk.
  __device__ __forceinline__ void copy(Stage<kTokens>& to) {
    const unsigned token = threadIdx.x / kPieces;
    const unsigned piece = threadIdx.x % kPieces ^ token % 8;
#pragma unroll
    for (unsigned i = 0; i < kTokens / kTokensApart; ++i)
      copy_16_bytes_async(&to.pieces[token + i * kTokensApart][piece], from + i * words_apart);
    from += kChunkValues / 2;
  }
};

// Tokens of a block, as they lie.
struct RisingTokens {
  unsigned first, n_tokens;
  __device__ __forceinline__ bool has(unsigned i) const { return first + i < n_tokens; }
  __device__ __forceinline__ unsigned row(unsigned i) const { return first + i; }
  __device__ __forceinline__ unsigned out(unsigned i) const { return first + i; }
};

// That a multiprocessor has registers for.
template <unsigned kTiles, unsigned kTokens>
constexpr unsigned blocks_beside = kTiles == 1                ? 4
                                   : kTokens == kPromptTokens ? 3
                                                              : 2;

template <WeightType kType, unsigned kTiles, unsigned kTokens>
__global__ void __launch_bounds__(kGemmThreads, (blocks_beside<kTiles, kTokens>))
    gemm_kernel(ProductGroup group, HalfOperands operands, unsigned n_splits) {
  wait_for_launch_before();
  const ProductPart part = group.part_of(row_block());
  const unsigned of_part = (row_block() - part.first_block) * kGemmWarps + threadIdx.x / kWarp;
  const unsigned first_tile = of_part * kTiles, first_token = blockIdx.x / n_splits * kTokens;
  const unsigned split = blockIdx.x % n_splits;
  const unsigned n_all = operands.words_of_row * 2 / kChunkValues;
  const unsigned of_split = (n_all + n_splits - 1) / n_splits, first_chunk = split * of_split;
  const unsigned end_chunk = first_chunk + of_split < n_all ? first_chunk + of_split : n_all;
  WarpProducts<kType, kTiles, kTokens> products(part, first_tile);
  TokenCopy<kTokens> tokens(operands, first_token, first_chunk);
  multiply_chunks(group, part, first_tile, {first_chunk, end_chunk, n_all}, tokens, products);
  float* const parts =
      n_splits == 1 ? nullptr : part.parts + std::size_t{split} * group.n_tokens * part.n_out;
  products.put(part, operands, first_tile, RisingTokens{first_token, group.n_tokens}, parts);
}

constexpr unsigned kAddThreads = 256;

// x: values of a product; y: the product.
__global__ void __launch_bounds__(kAddThreads) add_splits(ProductGroup group, unsigned n_splits) {
  wait_for_launch_before();
  ProductPart part = group.parts[0];
#pragma unroll
  for (unsigned i = 1; i < kProductsMax; ++i)
    if (blockIdx.y == i) part = group.parts[i];
  const std::size_t n = std::size_t{group.n_tokens} * part.n_out;
  const std::size_t at = std::size_t{blockIdx.x} * kAddThreads + threadIdx.x;
  if (at >= n) return;
  float sum = 0;
  for (unsigned s = 0; s < n_splits; ++s) sum += part.parts[s * n + at];
  part.put(static_cast<unsigned>(at / part.n_out), static_cast<unsigned>(at % part.n_out), sum);
}

// How products are cut into blocks.
struct Cut {
  unsigned tiles_of_warp, tokens_of_block, n_splits = 1;
  unsigned rows_of_block() const { return kGemmWarps * tiles_of_warp * kTileRows; }
};
constexpr unsigned kSplitsMax = 8, kChunksOfSplit = 4;  // at most, at least

// Large blocks read least; where these are too few for the card, smaller ones and splits.
Cut cut_of(std::span<const Product> products, std::size_t n_tokens, unsigned n_multiprocessors) {
  std::size_t n_rows = 0;
  for (const Product& each : products) n_rows += each.weight->n_out;
  const auto n_blocks = [&](const Cut& cut) {
    return std::size_t{blocks_of(n_rows, cut.rows_of_block())} *
           blocks_of(n_tokens, cut.tokens_of_block);
  };
  Cut cut{1, kPromptTokens};
  unsigned beside = blocks_beside<1, kPromptTokens>;
  if (products[0].weight->has_tiles() && n_tokens > kPromptTokens) {
    cut = {2, 2 * kPromptTokens}, beside = blocks_beside<2, 2 * kPromptTokens>;
    if (n_blocks(cut) * 10 < std::size_t{n_multiprocessors} * beside * 9)
      cut = {2, kPromptTokens}, beside = blocks_beside<2, kPromptTokens>;
  }
  const std::size_t n_chunks = blocks_of(products[0].weight->n_in, kChunkValues);
  const std::size_t most = std::clamp<std::size_t>(n_chunks / kChunksOfSplit, 1, kSplitsMax);
  cut.n_splits = static_cast<unsigned>(std::clamp<std::size_t>(
      std::size_t{n_multiprocessors} * beside / std::max<std::size_t>(n_blocks(cut), 1), 1, most));
  return cut;
}

template <WeightType kType, unsigned kTiles, unsigned kTokens>
cudaError_t multiply_with(Queue& queue, std::span<const Product> products,
                          const ProductInput& input, const Cut& cut) {
  unsigned n_blocks = 0;
  ProductGroup group = group_of(products, input.n_tokens, cut.rows_of_block(), n_blocks);
  float* parts = input.splits;
  std::size_t n_most = 0;
  for (std::size_t i = 0; cut.n_splits > 1 && i < products.size(); ++i) {
    const std::size_t n = input.n_tokens * products[i].weight->n_out;
    group.parts[i].parts = parts;
    parts += n * cut.n_splits;
    n_most = std::max(n_most, n);
  }
  const dim3 grid = grid_of(blocks_of(input.n_tokens, kTokens) * cut.n_splits, n_blocks);
  const cudaError_t error =
      launch(queue, {grid, kGemmThreads, sizeof(Stage<kTokens>[kStages])},
             gemm_kernel<kType, kTiles, kTokens>, group, input.halves, cut.n_splits);
  if (error != cudaSuccess || cut.n_splits == 1) return error;
  const dim3 of_values(blocks_of(n_most, kAddThreads), static_cast<unsigned>(products.size()));
  return launch(queue, {of_values, kAddThreads}, add_splits, group, cut.n_splits);
}

}  // namespace

std::size_t gemm_splits_bytes(std::span<const Product> products, std::size_t n_tokens,
                              unsigned n_multiprocessors) {
  const Cut cut = cut_of(products, n_tokens, n_multiprocessors);
  if (cut.n_splits == 1) return 0;
  std::size_t n = 0;
  for (const Product& each : products) n += each.weight->n_out;
  return n * n_tokens * cut.n_splits * sizeof(float);
}

cudaError_t multiply_gemm(Queue& queue, std::span<const Product> products,
                          const ProductInput& input) {
  const DeviceMatrix& weight = *products[0].weight;
  const Cut cut = cut_of(products, input.n_tokens, input.n_multiprocessors);
  if (!weight.has_tiles())
    return with_float_type(weight.type, [&](auto type) {
      return multiply_with<decltype(type)::value, 1, kPromptTokens>(queue, products, input, cut);
    });
  return with_tile_type(weight.type, [&](auto type) {
    constexpr WeightType kType = decltype(type)::value;
    const auto multiply = cut.tiles_of_warp == 1 ? multiply_with<kType, 1, kPromptTokens>
                          : cut.tokens_of_block == kPromptTokens
                              ? multiply_with<kType, 2, kPromptTokens>
                              : multiply_with<kType, 2, 2 * kPromptTokens>;
    return multiply(queue, products, input, cut);
  });
}

}  // namespace satchel::kernels::cuda
