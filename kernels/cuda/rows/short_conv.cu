#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

// What every sequence of a call has in common.
struct Conv {
  const float *rows, *taps;
  std::size_t width, n_taps;
  float* out;
  friend bool operator==(const Conv&, const Conv&) = default;

  // s of the sequence's token `at`, which counts from n_taps - 1: what is below is in the state.
  __device__ float input(const StateSequence& sequence, std::size_t at, std::size_t channel) const {
    if (at + 1 < n_taps)
      return sequence.before == nullptr ? 0.0f : sequence.before[at * width + channel];
    const float* row = rows + (sequence.first_token + at + 1 - n_taps) * 3 * width + channel;
    return row[0] * row[2 * width];
  }
};

// A thread is one value of one sequence, which is blockIdx.y.
__global__ void __launch_bounds__(kThreads)
    convolve_rows(Conv conv, const StateSequence* sequences) {
  wait_for_launch_before();
  const StateSequence sequence = sequences[blockIdx.y];
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= sequence.n_tokens * conv.width) return;
  const std::size_t t = i / conv.width, channel = i % conv.width;
  float sum = 0;
  for (std::size_t j = 0; j < conv.n_taps; ++j)
    sum += conv.taps[channel * conv.n_taps + j] * conv.input(sequence, t + j, channel);
  const std::size_t token = sequence.first_token + t;
  conv.out[token * conv.width + channel] = conv.rows[(token * 3 + 1) * conv.width + channel] * sum;
}

// A thread is one channel: a row is written after it was last read, as only older ones go to its
// place.
__global__ void __launch_bounds__(kThreads) carry_rows(Conv conv, const StateSequence* sequences) {
  wait_for_launch_before();
  const StateSequence sequence = sequences[blockIdx.y];
  const std::size_t channel = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (channel >= conv.width) return;
  for (std::size_t j = 0; j + 1 < conv.n_taps; ++j)
    sequence.behind[j * conv.width + channel] =
        conv.input(sequence, sequence.n_tokens + j, channel);
}

}  // namespace

cudaError_t short_conv(Queue& queue, const ShortConvArgs& args, const StateSequence* sequences,
                       std::size_t n_tokens_max) {
  const Conv conv{args.rows, args.taps, args.width, args.n_taps, args.out};
  const auto n_sequences = static_cast<unsigned>(args.sequences.size());
  const cudaError_t failed =
      launch(queue, {{blocks_of(n_tokens_max * args.width, kThreads), n_sequences}, kThreads},
             convolve_rows, conv, sequences);
  if (failed != cudaSuccess) return failed;
  return launch(queue, {{blocks_of(args.width, kThreads), n_sequences}, kThreads}, carry_rows, conv,
                sequences);
}

}  // namespace satchel::kernels::cuda
