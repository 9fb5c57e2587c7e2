// Activations as operands B of the matrix instruction.
#include <cuda_fp16.h>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kTopExponent =
    0;  // of the largest: products overflow no sooner than without the factor

struct MostMemory {
  unsigned of_warp[kThreads / kWarp];
};

// The largest magnitude, as bits: those of floats without sign rise with them, infinity and NaN
// last.
__device__ unsigned most_bits(const float* x, unsigned n, MostMemory& memory) {
  unsigned most = 0;
  for (unsigned i = threadIdx.x; i < n; i += kThreads) {
    const unsigned bits = __float_as_uint(x[i]) & 0x7fffffffu;
    most = bits > most ? bits : most;
  }
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, most, lanes);
    most = other > most ? other : most;
  }
  if (threadIdx.x % kWarp == 0) memory.of_warp[threadIdx.x / kWarp] = most;
  __syncthreads();
  for (unsigned w = 0; w < kThreads / kWarp; ++w)
    most = memory.of_warp[w] > most ? memory.of_warp[w] : most;
  return most;
}

// The exponent of the power of two that a token's values are times; 0 where there is nothing to
// gain.
__device__ __forceinline__ int exponent_of(unsigned most) {
  constexpr unsigned kInfinity = 0x7f800000u, kSmallest = 0x00800000u;
  if (most >= kInfinity || most < kSmallest) return 0;
  const int exponent = kTopExponent - (static_cast<int>(most >> 23) - 127);
  return exponent > 126 ? 126 : exponent;  // the power and its inverse are normal numbers
}
__device__ __forceinline__ float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

// A block a token, a thread a step of 16 values.
__global__ void __launch_bounds__(kThreads)
    split_activations(const float* x, unsigned n_in, unsigned n_sets, Operands out) {
  const unsigned token = blockIdx.x, set = token / kTokensOfSet, column = token % kTokensOfSet;
  const float* row = x + std::size_t{token} * n_in;
  const int exponent = exponent_of(most_bits(row, n_in, shared_memory<MostMemory>()));
  const float factor = power_of_two(exponent);
  if (threadIdx.x == 0) out.inverse[token] = power_of_two(-exponent);
  const unsigned n_steps = (n_in + kChunkValues - 1) / kChunkValues * kChunkSteps;
  for (unsigned step = threadIdx.x; step < n_steps; step += kThreads) {
    float sums[2] = {};
    std::uint32_t pairs[2][kStepValues / 2] = {};
    for (unsigned i = 0; i < kStepValues; ++i) {
      const unsigned k = step * kStepValues + i;
      const float value = k < n_in ? row[k] * factor : 0.0f;
      const __half high = __float2half_rn(value);
      const __half low = __float2half_rn(value - __half2float(high));
      sums[0] += __half2float(high);
      sums[1] += __half2float(low);
      pairs[0][i / 2] |= static_cast<std::uint32_t>(__half_as_ushort(high)) << 16 * (i % 2);
      pairs[1][i / 2] |= static_cast<std::uint32_t>(__half_as_ushort(low)) << 16 * (i % 2);
    }
    const std::size_t at = std::size_t{step} * n_sets + set;
    for (unsigned part = 0; part < 2; ++part) {
      const unsigned of_part = column + part * kTokensOfSet;
      out.sums[at * kColumns + of_part] = sums[part];
      for (unsigned i = 0; i < 4; ++i)
        out.fragments[at * kLanes + of_part * 4 + i] = {pairs[part][i], pairs[part][i + 4]};
    }
  }
}

}  // namespace

OperandPlan plan_operands(std::byte* at, std::size_t n_tokens, std::size_t n_in) {
  const std::size_t n_steps = (n_in + kChunkValues - 1) / kChunkValues * kChunkSteps;
  const std::size_t n_sets = (n_tokens + kTokensOfSet - 1) / kTokensOfSet;
  OperandPlan plan;
  const auto take = [&](std::size_t bytes) {
    std::byte* here = at == nullptr ? nullptr : at + plan.n_bytes;
    plan.n_bytes += (bytes + 255) / 256 * 256;
    return here;
  };
  plan.operands.fragments =
      reinterpret_cast<uint2*>(take(n_steps * n_sets * kLanes * sizeof(uint2)));
  plan.operands.sums = reinterpret_cast<float*>(take(n_steps * n_sets * kColumns * sizeof(float)));
  plan.operands.inverse = reinterpret_cast<float*>(take(n_tokens * sizeof(float)));
  return plan;
}

cudaError_t make_operands(cudaStream_t stream, const float* x, std::size_t n_tokens,
                          std::size_t n_in, const Operands& out) {
  const auto n_sets = static_cast<unsigned>((n_tokens + kTokensOfSet - 1) / kTokensOfSet);
  return launch(stream, {static_cast<unsigned>(n_tokens), kThreads, sizeof(MostMemory)},
                split_activations, x, static_cast<unsigned>(n_in), n_sets, out);
}

}  // namespace satchel::kernels::cuda
