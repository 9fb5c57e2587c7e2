// Converts activations to operands: eight threads per step of 32 values, four each.
#include "kernels/cuda/products/operands.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/workspace_layout.h"
#include "kernels/cuda/products/activation_sources.h"
#include "kernels/cuda/weights/tile_layout.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = kRowThreads, kThreadsOfStep = 8;
constexpr unsigned kStepsOfBlock = kThreads / kThreadsOfStep;
static_assert(kThreadsOfStep * kFour == kStepValues);

// Of the eight threads that have a step.
__device__ __forceinline__ unsigned most_of_step(unsigned bits) {
  for (int distance = kThreadsOfStep / 2; distance > 0; distance /= 2)
    bits = larger(bits, __shfl_xor_sync(~0u, bits, distance));
  return bits;
}
// Of the four that have half of one, for each.
__device__ __forceinline__ int sum_of_half(int x) {
  for (int distance = kThreadsOfStep / 4; distance > 0; distance /= 2)
    x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

// Four integers, their high bytes and their low ones.
struct Bytes {
  std::uint32_t parts[2];
  int sum;
};
__device__ __forceinline__ Bytes bytes_of(const Four& four, float inverse) {
  Bytes out = {};
  for (unsigned i = 0; i < kFour; ++i) {
    const int code = __float2int_rn(four.at[i] * inverse);
    const int high = (code + 128) >> 8;  // the rest, -128 … 127, is the low byte
    out.parts[0] |= (static_cast<std::uint32_t>(high) & 255) << 8 * i;
    out.parts[1] |= (static_cast<std::uint32_t>(code) & 255) << 8 * i;
    out.sum += code;
  }
  return out;
}

// A block some steps of a token; tokens are the grid's first index, which has room for any prompt.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    split_activations(Activations from, unsigned n_tokens, unsigned n_in, Operands out) {
  wait_for_launch_before();
  const unsigned token = blockIdx.x, n_steps = blocks_of(n_in, kChunkValues) * kChunkSteps;
  const unsigned step = blockIdx.y * kStepsOfBlock + threadIdx.x / kThreadsOfStep;
  const unsigned of_step = threadIdx.x % kThreadsOfStep;
  const unsigned k = step * kStepValues + of_step * kFour;
  Four four = {};
  if (token < n_tokens) {
    const Source source(from, token, n_in);
    if (k < n_in) {
      four = source.values(k);
      source.keep(k, four);
    }
  }
  const unsigned bits = most_of_step(largest_bits(four));
  const float most = __uint_as_float(bits);
  const bool is_finite = bits < kInfinityBits, counts = is_finite && most >= 1e-30f;
  const Bytes bytes = bytes_of(counts ? four : Four(), counts ? kMostCode / most : 0.0f);
  const int sum = sum_of_half(bytes.sum), other_sum = __shfl_xor_sync(~0u, sum, 4);
  if (step >= n_steps) return;

  const std::size_t set = std::size_t{step} * out.n_sets + token / kTokensOfSet;
  const unsigned of_set = token % kTokensOfSet;
  auto* words = reinterpret_cast<std::uint32_t*>(out.fragments + set * kWarp);
  for (unsigned part = 0; part < 2; ++part)
    words[((2 * of_set + part) * 4 + of_step % 4) * 2 + of_step / 4] = bytes.parts[part];
  if (of_step != 0) return;
  const float scale = counts ? most / kMostCode : is_finite ? 0.0f : __uint_as_float(0x7fc00000u);
  out.steps[set * kTokensOfSet + of_set] = {
      scale, {sum, other_sum}, scale * static_cast<float>(sum + other_sum)};
}

}  // namespace

OperandPlan plan_operands(std::byte* at, std::size_t n_tokens, std::size_t n_in) {
  const std::size_t n_steps = (n_in + kChunkValues - 1) / kChunkValues * kChunkSteps;
  const std::size_t n_pairs = (n_tokens + 2 * kTokensOfSet - 1) / (2 * kTokensOfSet);
  const std::size_t n_sets = n_tokens <= kTokensOfSet ? 1 : 2 * n_pairs;
  WorkspaceLayout places(at);
  OperandPlan plan;
  plan.operands.fragments = places.take<uint2>(n_steps * n_sets * kWarp);
  plan.operands.steps = places.take<StepOfToken>(n_steps * n_sets * kTokensOfSet);
  plan.operands.n_sets = static_cast<unsigned>(n_sets);
  plan.n_bytes = places.n_bytes();
  return plan;
}

cudaError_t make_operands(Queue& queue, const Activations& from, std::size_t n_tokens,
                          std::size_t n_in, const Operands& out) {
  const unsigned n_steps = blocks_of(n_in, kChunkValues) * kChunkSteps;
  const dim3 grid(out.n_sets * kTokensOfSet, blocks_of(n_steps, kStepsOfBlock));
  return with_source(from, [&](auto source) {
    return launch(queue, {grid, kThreads, sizeof(BlockSums<kThreads>)},
                  split_activations<typename decltype(source)::type>, from,
                  static_cast<unsigned>(n_tokens), static_cast<unsigned>(n_in), out);
  });
}

}  // namespace satchel::kernels::cuda
