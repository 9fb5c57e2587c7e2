// Converts activations to fp16 operands: a block a token.
#include "kernels/cuda/products/half_operands.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/workspace_layout.h"
#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/products/activation_sources.h"
#include "kernels/cuda/products/half_factors.h"
#include "kernels/cuda/weights/tile_layout.h"

namespace satchel::kernels::cuda {
namespace {

struct Memory {
  BlockSums<kRowThreads> sums;  // of the source
  unsigned most[kRowThreads / kWarp];
};

// Of all threads, the same for each.
__device__ __forceinline__ unsigned largest_of_block(unsigned bits, Memory& memory) {
  bits = warp_largest(bits);
  if (threadIdx.x % kWarp == 0) memory.most[threadIdx.x / kWarp] = bits;
  __syncthreads();
  for (const unsigned each : memory.most) bits = larger(bits, each);
  return bits;
}

// Tokens are the grid's first index, which has room for any prompt.
template <class Source>
__global__ void __launch_bounds__(kRowThreads)
    halve_activations(Activations from, unsigned n_tokens, unsigned n_in, HalfOperands out) {
  wait_for_launch_before();
  const unsigned token = blockIdx.x;
  std::uint32_t* to = out.pairs + std::size_t{token} * out.words_of_row;
  if (token >= n_tokens) {
    for (unsigned i = threadIdx.x; i < out.words_of_row; i += kRowThreads) to[i] = 0;
    if (threadIdx.x == 0) out.sizes[token] = 0;
    return;
  }
  const Source source(from, token, n_in);
  unsigned bits = 0;
  for (unsigned k = threadIdx.x * kFour; k < n_in; k += kRowThreads * kFour) {
    const Four four = source.values(k);
    source.keep(k, four);
    bits = larger(bits, largest_bits(four));
  }
  bits = largest_of_block(bits, shared_memory<Memory>());
  const bool is_finite = bits < kInfinityBits;
  const float factor = factor_to_halves(is_finite ? bits : 0);
  for (unsigned k = threadIdx.x * kFour; k < out.words_of_row * 2; k += kRowThreads * kFour) {
    Four four = {};
    if (k < n_in && is_finite) four = source.values(k);
    std::uint32_t* of_thread = to + k / 16 * 8 + k % 16 / kFour;
    of_thread[0] = nearest_pair(four.at[0] * factor, four.at[1] * factor);
    of_thread[4] = nearest_pair(four.at[2] * factor, four.at[3] * factor);
  }
  if (threadIdx.x == 0)
    out.sizes[token] = is_finite ? size_of(factor) : __uint_as_float(0x7fc00000u);
}

}  // namespace

HalfOperandPlan plan_half_operands(std::byte* at, std::size_t n_tokens, std::size_t n_in) {
  const std::size_t n_rows = whole_tokens(n_tokens);
  WorkspaceLayout places(at);
  HalfOperandPlan plan;
  plan.operands.words_of_row = blocks_of(n_in, kChunkValues) * kChunkValues / 2;
  plan.operands.pairs = places.take<std::uint32_t>(n_rows * plan.operands.words_of_row);
  plan.operands.sizes = places.take<float>(n_rows);
  plan.n_bytes = places.n_bytes();
  return plan;
}

cudaError_t make_half_operands(Queue& queue, const Activations& from, std::size_t n_tokens,
                               std::size_t n_in, const HalfOperands& out) {
  const dim3 grid(static_cast<unsigned>(whole_tokens(n_tokens)));
  return with_source(from, [&](auto source) {
    return launch(queue, {grid, kRowThreads, sizeof(Memory)},
                  halve_activations<typename decltype(source)::type>, from,
                  static_cast<unsigned>(n_tokens), static_cast<unsigned>(n_in), out);
  });
}

}  // namespace satchel::kernels::cuda
