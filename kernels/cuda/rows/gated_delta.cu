#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/primitives/warp.h"
#include "kernels/cuda/rows/conv_inputs.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

// What every sequence of a call has in common.
struct PlainConv {
  const float *rows, *taps;
  std::size_t width, n_taps;
  float* out;
  friend bool operator==(const PlainConv&, const PlainConv&) = default;

  __device__ float value(std::size_t token, std::size_t channel) const {
    return rows[token * width + channel];
  }
};

// A thread is one value of one sequence, which is blockIdx.y.
__global__ void __launch_bounds__(kConvThreads)
    convolve_silu(PlainConv conv, const StateSequence* sequences) {
  wait_for_launch_before();
  const StateSequence sequence = sequences[blockIdx.y];
  const std::size_t i = std::size_t{blockIdx.x} * kConvThreads + threadIdx.x;
  if (i >= sequence.n_tokens * conv.width) return;
  const float sum = convolved(conv, sequence, i / conv.width, i % conv.width);
  conv.out[sequence.first_token * conv.width + i] = sum / (1.0f + expf(-sum));
}

// A warp is a key head's queries or keys of one token; they get the length 1.
__global__ void __launch_bounds__(kConvThreads)
    make_unit_rows(float* convolved, std::size_t n_channels, std::size_t n_heads,
                   std::size_t key_dim, std::size_t n_rows) {
  wait_for_launch_before();
  const std::size_t i = (std::size_t{blockIdx.x} * kConvThreads + threadIdx.x) / kWarp;
  if (i >= n_rows) return;
  const std::size_t head = i % n_heads;
  float* const row = convolved + i / n_heads * n_channels + head * key_dim;
  const unsigned thread = threadIdx.x % kWarp;
  float squares = 0;
  for (std::size_t c = thread; c < key_dim; c += kWarp) squares += row[c] * row[c];
  const float factor = 1.0f / sqrtf(warp_sum(squares) + kLengthEpsilon);
  for (std::size_t c = thread; c < key_dim; c += kWarp) row[c] *= factor;
}

constexpr unsigned kColumns = 32, kOfColumn = 4;  // columns of S in a block, and threads of each
constexpr unsigned kDeltaThreads = kColumns * kOfColumn;
constexpr unsigned kStride = kColumns + 8;  // eight columns' quads meet all 32 banks

struct Delta {
  const float *convolved, *decay, *strength, *rate, *decay_bias;
  std::size_t n_channels, n_key_heads, n_value_heads, key_dim, value_dim, tail_values;
  bool is_tiled;
  float* out;
  friend bool operator==(const Delta&, const Delta&) = default;

  __device__ std::size_t key_head(std::size_t head) const {
    return is_tiled ? head % n_key_heads : head / (n_value_heads / n_key_heads);
  }
  __device__ float kept(std::size_t token, std::size_t head) const {
    const float x = decay[token * n_value_heads + head] + decay_bias[head];
    return expf(rate[head] * (fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)))));
  }
  __device__ float strength_of(std::size_t token, std::size_t head) const {
    return 1.0f / (1.0f + expf(-strength[token * n_value_heads + head]));
  }
};

struct DeltaShared {
  float q[kDeltaDimMax], k[kDeltaDimMax];
  float s[kDeltaDimMax * kStride];
};

// A block is some columns of S of one value head, blockIdx.x, in one sequence, blockIdx.z. Each
// column's rows are dealt to a quad of threads.
__global__ void __launch_bounds__(kDeltaThreads)
    run_delta_rule(Delta delta, const StateSequence* sequences) {
  wait_for_launch_before();
  DeltaShared& shared = shared_memory<DeltaShared>();
  const StateSequence sequence = sequences[blockIdx.z];
  const std::size_t head = blockIdx.x, key_head = delta.key_head(head);
  const unsigned n_rows = static_cast<unsigned>(delta.key_dim), first = threadIdx.x % kOfColumn;
  const std::size_t column = blockIdx.y * kColumns + threadIdx.x / kOfColumn;
  const bool is_there = column < delta.value_dim;
  const std::size_t at = delta.tail_values + head * delta.key_dim * delta.value_dim + column;
  float* const s = shared.s + threadIdx.x / kOfColumn;
  for (unsigned i = first; i < n_rows; i += kOfColumn)
    s[i * kStride] =
        is_there && sequence.before != nullptr ? sequence.before[at + i * delta.value_dim] : 0.0f;
  const float scale = 1.0f / sqrtf(static_cast<float>(n_rows));
  for (std::size_t t = 0; t < sequence.n_tokens; ++t) {
    const std::size_t token = sequence.first_token + t;
    const float* const row = delta.convolved + token * delta.n_channels;
    __syncthreads();  // the token before has been read
    for (unsigned i = threadIdx.x; i < n_rows; i += kDeltaThreads) {
      shared.q[i] = row[key_head * n_rows + i];
      shared.k[i] = row[(delta.n_key_heads + key_head) * n_rows + i];
    }
    __syncthreads();
    const float kept = delta.kept(token, head);
    float known = 0, sum = 0;
    for (unsigned i = first; i < n_rows; i += kOfColumn) known += shared.k[i] * s[i * kStride];
    const float v =
        is_there ? row[2 * delta.n_key_heads * n_rows + head * delta.value_dim + column] : 0.0f;
    const float change = delta.strength_of(token, head) * (v - kept * quad_sum(known));
    for (unsigned i = first; i < n_rows; i += kOfColumn) {
      const float value = kept * s[i * kStride] + shared.k[i] * change;
      s[i * kStride] = value;
      sum += shared.q[i] * value;
    }
    sum = quad_sum(sum);
    if (is_there && first == 0)
      delta.out[(token * delta.n_value_heads + head) * delta.value_dim + column] = sum * scale;
  }
  for (unsigned i = first; is_there && i < n_rows; i += kOfColumn)
    sequence.behind[at + i * delta.value_dim] = s[i * kStride];
}

// A warp is a value head of one token: its row is normed and gated.
__global__ void __launch_bounds__(kConvThreads)
    norm_gated_rows(float* out, const float* gate, const float* gain, std::size_t value_dim,
                    float epsilon, std::size_t n_rows) {
  wait_for_launch_before();
  const std::size_t i = (std::size_t{blockIdx.x} * kConvThreads + threadIdx.x) / kWarp;
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
  const std::size_t width = args.n_channels(), n_tokens = args.n_tokens();
  const PlainConv conv{args.rows, args.taps, width, args.n_taps, args.convolved};
  const auto n_sequences = static_cast<unsigned>(args.sequences.size());
  const auto n_heads = static_cast<unsigned>(args.n_value_heads);
  const std::size_t n_units = n_tokens * 2 * args.n_key_heads, n_out = n_tokens * n_heads;
  const Delta delta{.convolved = args.convolved,
                    .decay = args.decay,
                    .strength = args.strength,
                    .rate = args.rate,
                    .decay_bias = args.decay_bias,
                    .n_channels = width,
                    .n_key_heads = args.n_key_heads,
                    .n_value_heads = args.n_value_heads,
                    .key_dim = args.key_dim,
                    .value_dim = args.value_dim,
                    .tail_values = args.tail_values(),
                    .is_tiled = args.key_heads == GatedDeltaArgs::KeyHeads::tiled,
                    .out = args.out};
  cudaError_t failed =
      launch(queue, {{blocks_of(n_tokens_max * width, kConvThreads), n_sequences}, kConvThreads},
             convolve_silu, conv, sequences);
  if (failed == cudaSuccess)
    failed = launch(queue, {{blocks_of(width, kConvThreads), n_sequences}, kConvThreads},
                    carry_rows<PlainConv>, conv, sequences);
  if (failed == cudaSuccess)
    failed =
        launch(queue, {{blocks_of(n_units * kWarp, kConvThreads)}, kConvThreads}, make_unit_rows,
               args.convolved, width, 2 * args.n_key_heads, args.key_dim, n_units);
  if (failed == cudaSuccess)
    failed = launch(queue,
                    {{n_heads, blocks_of(args.value_dim, kColumns), n_sequences},
                     kDeltaThreads,
                     sizeof(DeltaShared)},
                    run_delta_rule, delta, sequences);
  if (failed != cudaSuccess) return failed;
  return launch(queue, {{blocks_of(n_out * kWarp, kConvThreads)}, kConvThreads}, norm_gated_rows,
                args.out, args.gate, args.gain, args.value_dim, args.epsilon, n_out);
}

}  // namespace satchel::kernels::cuda
