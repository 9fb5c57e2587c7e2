#include "kernels/cuda/device/block_sum.h"
#include "kernels/cuda/rows/linear_attention.h"
#include "kernels/cuda/rows/row_math.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

struct MambaRule {
  static constexpr bool kCorrects = false;
  const float *step, *rate, *step_bias;
  std::size_t n_heads, n_groups, head_dim, state_dim;
  friend bool operator==(const MambaRule&, const MambaRule&) = default;

  __device__ std::size_t v_at(std::size_t head) const { return head * head_dim; }
  __device__ std::size_t k_at(std::size_t head) const {
    return n_heads * head_dim + head / (n_heads / n_groups) * state_dim;
  }
  __device__ std::size_t q_at(std::size_t head) const { return k_at(head) + n_groups * state_dim; }
  __device__ float strength(std::size_t token, std::size_t head) const {
    return softplus(step[token * n_heads + head] + step_bias[head]);
  }
  __device__ float kept(std::size_t token, std::size_t head) const {
    return expf(rate[head] * strength(token, head));
  }
};

struct MambaOutput {
  const float *convolved, *skip, *gate, *gain;
  std::size_t n_channels;
  unsigned n_groups, n_of_group, head_dim;
  float epsilon;
  float* out;
  friend bool operator==(const MambaOutput&, const MambaOutput&) = default;
};

// A block is a group of one token, whose rows lie side by side: what goes around the state is
// added, the sum gated, then normed.
__global__ void __launch_bounds__(kRowThreads) gate_groups(MambaOutput all) {
  wait_for_launch_before();
  const unsigned token = blockIdx.x / all.n_groups;
  const unsigned first = blockIdx.x % all.n_groups * all.n_of_group;
  const std::size_t at = std::size_t{blockIdx.x} * all.n_of_group;
  const float* const x = all.convolved + token * all.n_channels + first;
  float* const row = all.out + at;
  for (unsigned i = threadIdx.x; i < all.n_of_group; i += kRowThreads) {
    const float y = row[i] + all.skip[(first + i) / all.head_dim] * x[i];
    row[i] = gated<Activation::silu>(all.gate[at + i], y);
  }
  const float factor =
      norm_factor(row, all.n_of_group, all.epsilon, shared_memory<BlockSums<kRowThreads>>());
  for (unsigned i = threadIdx.x; i < all.n_of_group; i += kRowThreads)
    row[i] = row[i] * factor * all.gain[first + i];
}

}  // namespace

cudaError_t mamba2(Queue& queue, const Mamba2Args& args, const StateSequence* sequences,
                   std::size_t n_tokens_max) {
  const std::size_t n_sequences = args.sequences.size();
  const LinearAttention all{.convolved = args.convolved,
                            .n_channels = args.n_channels(),
                            .n_heads = args.n_heads,
                            .key_dim = args.state_dim,
                            .value_dim = args.head_dim,
                            .state_at = args.tail_values(),
                            .scale = 1,
                            .out = args.out};
  const MambaRule rule{.step = args.step,
                       .rate = args.rate,
                       .step_bias = args.step_bias,
                       .n_heads = args.n_heads,
                       .n_groups = args.n_groups,
                       .head_dim = args.head_dim,
                       .state_dim = args.state_dim};
  const MambaOutput output{.convolved = args.convolved,
                           .skip = args.skip,
                           .gate = args.gate,
                           .gain = args.gain,
                           .n_channels = args.n_channels(),
                           .n_groups = static_cast<unsigned>(args.n_groups),
                           .n_of_group = static_cast<unsigned>(args.width() / args.n_groups),
                           .head_dim = static_cast<unsigned>(args.head_dim),
                           .epsilon = args.epsilon,
                           .out = args.out};
  cudaError_t failed = silu_conv(queue, args.convolution(), sequences, n_sequences, n_tokens_max);
  if (failed == cudaSuccess) failed = linear_attention(queue, all, rule, sequences, n_sequences);
  if (failed != cudaSuccess) return failed;
  const auto n_rows = static_cast<unsigned>(args.n_tokens() * args.n_groups);
  return launch(queue, {n_rows, kRowThreads, sizeof(BlockSums<kRowThreads>)}, gate_groups, output);
}

}  // namespace satchel::kernels::cuda
