// Converts activations to operands: eight threads per step of 32 values, four each.
#include "kernels/cuda/products/operands.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/workspace_layout.h"
#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/rows/row_math.h"
#include "kernels/cuda/weights/tile_layout.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = kRowThreads, kThreadsOfStep = 8, kValues = 4;  // of a thread
constexpr unsigned kStepsOfBlock = kThreads / kThreadsOfStep;
static_assert(kThreadsOfStep * kValues == kStepValues);

struct Four {
  float at[kValues];
};
__device__ __forceinline__ Four four_at(const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  return {four.x, four.y, four.z, four.w};
}

// Four values of a token's row; made before the threads part, as a sum of the row may be needed.
struct Plain {
  __device__ Plain(const Activations& all, unsigned token, unsigned n_in)
      : row(all.x + std::size_t{token} * n_in) {}
  __device__ Four values(unsigned k) const { return four_at(row + k); }
  const float* row;
};
struct Normed {
  __device__ Normed(const Activations& all, unsigned token, unsigned n_in)
      : row(all.x + std::size_t{token} * n_in),
        out(all.normed + std::size_t{token} * n_in),
        gain(all.gain),
        factor(norm_factor(row, n_in, all.epsilon, shared_memory<BlockSums<kThreads>>())) {}
  __device__ Four values(unsigned k) const {
    Four four = four_at(row + k);
    for (unsigned i = 0; i < kValues; ++i) four.at[i] = four.at[i] * factor * gain[k + i];
    *reinterpret_cast<float4*>(out + k) = {four.at[0], four.at[1], four.at[2], four.at[3]};
    return four;
  }
  const float* row;
  float* out;
  const float* gain;
  float factor;
};
template <Activation kActivation>
struct Glu {
  __device__ Glu(const Activations& all, unsigned token, unsigned n_in)
      : gate(all.x + std::size_t{token} * n_in), up(all.up + std::size_t{token} * n_in) {}
  __device__ Four values(unsigned k) const {
    Four four = four_at(gate + k);
    const Four beside = four_at(up + k);
    for (unsigned i = 0; i < kValues; ++i)
      four.at[i] = activate<kActivation>(four.at[i]) * beside.at[i];
    return four;
  }
  const float *gate, *up;
};

// Of the eight threads that have a step.
__device__ __forceinline__ unsigned most_of_step(unsigned bits) {
  for (int distance = kThreadsOfStep / 2; distance > 0; distance /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, bits, distance);
    bits = other > bits ? other : bits;
  }
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
  for (unsigned i = 0; i < kValues; ++i) {
    const int code = __float2int_rn(four.at[i] * inverse);
    const int high = (code + 128) >> 8;  // the rest, -128 … 127, is the low byte
    out.parts[0] |= (static_cast<std::uint32_t>(high) & 255) << 8 * i;
    out.parts[1] |= (static_cast<std::uint32_t>(code) & 255) << 8 * i;
    out.sum += code;
  }
  return out;
}

// A block some steps of a token; tokens are the grid's first index, which has room for any prompt.
// Bits of magnitudes rise with them, infinity and NaN last.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    split_activations(Activations from, unsigned n_tokens, unsigned n_in, Operands out) {
  wait_for_launch_before();
  constexpr unsigned kInfinity = 0x7f800000u;
  const unsigned token = blockIdx.x, n_steps = blocks_of(n_in, kChunkValues) * kChunkSteps;
  const unsigned step = blockIdx.y * kStepsOfBlock + threadIdx.x / kThreadsOfStep;
  const unsigned of_step = threadIdx.x % kThreadsOfStep;
  const unsigned k = step * kStepValues + of_step * kValues;
  Four four = {};
  if (token < n_tokens) {
    const Source source(from, token, n_in);
    if (k < n_in) four = source.values(k);
  }
  unsigned bits = 0;
  for (const float value : four.at) {
    const unsigned magnitude = __float_as_uint(value) & 0x7fffffffu;
    bits = magnitude > bits ? magnitude : bits;
  }
  bits = most_of_step(bits);
  const float most = __uint_as_float(bits);
  const bool is_finite = bits < kInfinity, counts = is_finite && most >= 1e-30f;
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

template <class Source>
cudaError_t make_from(Queue& queue, const Activations& from, std::size_t n_tokens, std::size_t n_in,
                      const Operands& out) {
  const unsigned n_steps = blocks_of(n_in, kChunkValues) * kChunkSteps;
  const dim3 grid(out.n_sets * kTokensOfSet, blocks_of(n_steps, kStepsOfBlock));
  return launch(queue, {grid, kThreads, sizeof(BlockSums<kThreads>)}, split_activations<Source>,
                from, static_cast<unsigned>(n_tokens), static_cast<unsigned>(n_in), out);
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
  if (from.gain != nullptr) return make_from<Normed>(queue, from, n_tokens, n_in, out);
  if (from.up == nullptr) return make_from<Plain>(queue, from, n_tokens, n_in, out);
  if (from.activation == Activation::silu)
    return make_from<Glu<Activation::silu>>(queue, from, n_tokens, n_in, out);
  return make_from<Glu<Activation::gelu_tanh>>(queue, from, n_tokens, n_in, out);
}

}  // namespace satchel::kernels::cuda
