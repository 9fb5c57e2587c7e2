// Products of pairs with their experts' matrices: tiles as gemv.cu multiplies them, rows of floats
// as float_products.cu.
#include "kernels/cuda/experts/expert_group.h"
#include "kernels/cuda/products/float_rows.h"
#include "kernels/cuda/products/gemv_tile.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

// Where a thread finds the tokens of a unit's pairs, as one set, whatever sets they are in.
struct PairTokens {
  static constexpr unsigned n_sets = 1;
  const uint2* fragments;  // null: the thread's column has no pair
  const StepOfToken* steps;
  unsigned sets_of_step;

  __device__ PairTokens(const Operands& from, const ExpertUnit& unit, unsigned pairs_of_row,
                        unsigned chunk, unsigned thread)
      : sets_of_step(from.n_sets) {
    const std::size_t first = std::size_t{chunk * kChunkSteps} * from.n_sets;
    const auto row_of = [&](unsigned i) { return unit.pairs[i < unit.n ? i : 0] / pairs_of_row; };
    const unsigned read = row_of(thread / 8), given = row_of(thread % kTokensOfSet);
    const unsigned column = 2 * (read % kTokensOfSet) + thread / 4 % 2;
    fragments = thread / 8 < unit.n ? from.fragments + (first + read / kTokensOfSet) * kWarp +
                                          column * 4 + thread % 4
                                    : nullptr;
    steps = from.steps + (first + given / kTokensOfSet) * kTokensOfSet + given % kTokensOfSet;
  }
  __device__ __forceinline__ void walk() {
    if (fragments != nullptr) fragments += kParts * kChunkSteps * sets_of_step * kWarp;
    steps += kParts * kChunkSteps * sets_of_step * kTokensOfSet;
  }
  __device__ __forceinline__ uint2 fragment(unsigned step, unsigned) const {
    if (fragments == nullptr) return {0, 0};
    return fragments[step * sets_of_step * kWarp];
  }
  __device__ __forceinline__ StepOfToken token(unsigned step, unsigned) const {
    return steps[step * sets_of_step * kTokensOfSet];
  }
};

// A block a tile of an expert, and the pairs of a unit.
template <WeightType kType>
__global__ void __launch_bounds__(kGemvThreads, 4)
    multiply_unit_tiles(ExpertGroup group, Operands operands, const ExpertUnit* units) {
  wait_for_launch_before();
  const ExpertUnit& unit = units[blockIdx.y];
  if (unit.n == 0) return;
  unsigned tile = blockIdx.x;
  const ProductPart part = group.part_of(unit.expert, tile);
  float acc[1][2] = {};
  PairTokens tokens(operands, unit, group.pairs_of_row, threadIdx.x / kWarp, threadIdx.x % kWarp);
  multiply_tile<kType, 1>(
      part.bytes + std::size_t{tile} * group.plan.tile_bytes, group.plan, tokens, [] {}, acc);
  put_sums<1>(acc, part, tile, unit.n, [&](unsigned i) { return unit.pairs[i]; });
}

constexpr unsigned kWarps = 8, kThreads = kWarps * kWarp, kRows = 2;

// A warp some rows of an expert, and a unit's pairs one after the other: sums as of
// float_products.cu.
template <WeightType kType>
__global__ void __launch_bounds__(kThreads)
    multiply_unit_rows(ExpertGroup group, const float* x, const ExpertUnit* units) {
  wait_for_launch_before();
  constexpr unsigned kValues = kValuesOf<kType>;
  const ExpertUnit& unit = units[blockIdx.y];
  if (unit.n == 0) return;
  unsigned block = blockIdx.x;
  const ProductPart part = group.part_of(unit.expert, block);
  const unsigned n_in = group.n_in, thread = threadIdx.x % kWarp;
  const unsigned first_row = (block * kWarps + threadIdx.x / kWarp) * kRows;
  const bool is_aligned = n_in % kValues == 0;
  if (first_row >= part.n_out) return;
  for (unsigned i = 0; i < unit.n; ++i) {
    const std::size_t pair = unit.pairs[i];
    const float* row = x + pair / group.pairs_of_row * n_in;
    float sums[kRows][1] = {};
    for (unsigned k = thread * kValues; k < n_in; k += kWarp * kValues) {
      const auto values = activations_at<kValues>(row, k, n_in, is_aligned);
      for (unsigned r = 0; r < kRows && first_row + r < part.n_out; ++r) {
        const auto w = weights_at<kType>(
            part.bytes + std::size_t{first_row + r} * n_in * kBytesOf<kType>, k, n_in, is_aligned);
#pragma unroll
        for (unsigned v = 0; v < kValues; ++v) sums[r][0] = fmaf(w.at[v], values.at[v], sums[r][0]);
      }
    }
    ProductPart of_pair = part;
    of_pair.out += pair * part.n_out;
    put_sums<kRows, 1>(sums, of_pair, first_row, 0, 1);
  }
}

}  // namespace

cudaError_t multiply_experts(Queue& queue, const DeviceMatrix& like,
                             std::span<const ExpertProduct> products, const ExpertInput& input) {
  if (!like.has_tiles()) {
    const ExpertGroup group = expert_group(like, products, input.pairs_of_row, kWarps * kRows);
    return with_float_type(like.type, [&](auto type) {
      return launch(queue, {dim3(group.n_blocks, input.n_pairs), kThreads},
                    multiply_unit_rows<decltype(type)::value>, group, input.x, input.units);
    });
  }
  const ExpertGroup group = expert_group(like, products, input.pairs_of_row, kTileRows);
  return with_tile_type(like.type, [&](auto type) {
    return launch(queue, {dim3(group.n_blocks, input.n_pairs), kGemvThreads, sizeof(PartSums<1>)},
                  multiply_unit_tiles<decltype(type)::value>, group, input.integers, input.units);
  });
}

}  // namespace satchel::kernels::cuda
