#include <cmath>

#include "kernels/cuda/primitives/warp.h"
#include "kernels/cuda/rows/linear_attention.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarpRowThreads = 256;  // of a block, whose warps have a row each

// A warp is a key head's queries or keys of one token; they get the length 1.
__global__ void __launch_bounds__(kWarpRowThreads)
    make_unit_rows(float* convolved, std::size_t n_channels, std::size_t n_heads,
                   std::size_t key_dim, std::size_t n_rows) {
  wait_for_launch_before();
  const std::size_t i = (std::size_t{blockIdx.x} * kWarpRowThreads + threadIdx.x) / kWarp;
  if (i >= n_rows) return;
  const std::size_t head = i % n_heads;
  float* const row = convolved + i / n_heads * n_channels + head * key_dim;
  const unsigned thread = threadIdx.x % kWarp;
  float squares = 0;
  for (std::size_t c = thread; c < key_dim; c += kWarp) squares += row[c] * row[c];
  const float factor = 1.0f / sqrtf(warp_sum(squares) + kLengthEpsilon);
  for (std::size_t c = thread; c < key_dim; c += kWarp) row[c] *= factor;
}

struct DeltaRule {
  static constexpr bool kCorrects = true;
  const float *decay, *strengths, *rate, *decay_bias;
  std::size_t n_key_heads, n_value_heads, key_dim, value_dim;
  bool is_tiled;
  friend bool operator==(const DeltaRule&, const DeltaRule&) = default;

  __device__ std::size_t q_at(std::size_t head) const {
    return (is_tiled ? head % n_key_heads : head / (n_value_heads / n_key_heads)) * key_dim;
  }
  __device__ std::size_t k_at(std::size_t head) const { return q_at(head) + n_key_heads * key_dim; }
  __device__ std::size_t v_at(std::size_t head) const {
    return 2 * n_key_heads * key_dim + head * value_dim;
  }
  __device__ float kept(std::size_t token, std::size_t head) const {
    return expf(rate[head] * softplus(decay[token * n_value_heads + head] + decay_bias[head]));
  }
  __device__ float strength(std::size_t token, std::size_t head) const {
    return 1.0f / (1.0f + expf(-strengths[token * n_value_heads + head]));
  }
};

// A warp is a value head of one token: its row is normed and gated.
__global__ void __launch_bounds__(kWarpRowThreads)
    norm_gated_rows(float* out, const float* gate, const float* gain, std::size_t value_dim,
                    float epsilon, std::size_t n_rows) {
  wait_for_launch_before();
  const std::size_t i = (std::size_t{blockIdx.x} * kWarpRowThreads + threadIdx.x) / kWarp;
  if (i >= n_rows) return;
  float* const row = out + i * value_dim;
  const unsigned thread = threadIdx.x % kWarp;
  float squares = 0;
  for (std::size_t c = thread; c < value_dim; c += kWarp) squares += row[c] * row[c];
  const float mean = warp_sum(squares) / static_cast<float>(value_dim);
  const float factor = 1.0f / sqrtf(mean + epsilon);
  for (std::size_t c = thread; c < value_dim; c += kWarp) {
    const float z = gate[i * value_dim + c];
    row[c] = row[c] * factor * gain[c] * (z / (1.0f + expf(-z)));
  }
}

}  // namespace

cudaError_t gated_delta(Queue& queue, const GatedDeltaArgs& args, const StateSequence* sequences,
                        std::size_t n_tokens_max) {
  const std::size_t n_sequences = args.sequences.size(), n_tokens = args.n_tokens();
  const std::size_t n_units = n_tokens * 2 * args.n_key_heads;
  const std::size_t n_out = n_tokens * args.n_value_heads;
  const LinearAttention all{.convolved = args.convolved,
                            .n_channels = args.n_channels(),
                            .n_heads = args.n_value_heads,
                            .key_dim = args.key_dim,
                            .value_dim = args.value_dim,
                            .state_at = args.tail_values(),
                            .scale = 1.0f / std::sqrt(static_cast<float>(args.key_dim)),
                            .out = args.out};
  const DeltaRule rule{.decay = args.decay,
                       .strengths = args.strength,
                       .rate = args.rate,
                       .decay_bias = args.decay_bias,
                       .n_key_heads = args.n_key_heads,
                       .n_value_heads = args.n_value_heads,
                       .key_dim = args.key_dim,
                       .value_dim = args.value_dim,
                       .is_tiled = args.key_heads == GatedDeltaArgs::KeyHeads::tiled};
  cudaError_t failed = silu_conv(queue, args.convolution(), sequences, n_sequences, n_tokens_max);
  if (failed == cudaSuccess)
    failed = launch(queue, {{blocks_of(n_units * kWarp, kWarpRowThreads)}, kWarpRowThreads},
                    make_unit_rows, args.convolved, args.n_channels(), 2 * args.n_key_heads,
                    args.key_dim, n_units);
  if (failed == cudaSuccess) failed = linear_attention(queue, all, rule, sequences, n_sequences);
  if (failed != cudaSuccess) return failed;
  return launch(queue, {{blocks_of(n_out * kWarp, kWarpRowThreads)}, kWarpRowThreads},
                norm_gated_rows, args.out, args.gate, args.gain, args.value_dim, args.epsilon,
                n_out);
}

}  // namespace satchel::kernels::cuda
