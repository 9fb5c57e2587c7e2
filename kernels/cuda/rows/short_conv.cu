#include "kernels/cuda/rows/conv_inputs.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

// What every sequence of a call has in common.
struct GatedConv {
  const float *rows, *taps;
  std::size_t width, n_taps;
  float* out;
  friend bool operator==(const GatedConv&, const GatedConv&) = default;

  __device__ float value(std::size_t token, std::size_t channel) const {
    const float* row = rows + token * 3 * width + channel;
    return row[0] * row[2 * width];
  }
};

// A thread is one value of one sequence, which is blockIdx.y.
__global__ void __launch_bounds__(kConvThreads)
    convolve_rows(GatedConv conv, const StateSequence* sequences) {
  wait_for_launch_before();
  const StateSequence sequence = sequences[blockIdx.y];
  const std::size_t i = std::size_t{blockIdx.x} * kConvThreads + threadIdx.x;
  if (i >= sequence.n_tokens * conv.width) return;
  const std::size_t t = i / conv.width, channel = i % conv.width;
  const float sum = convolved(conv, sequence, t, channel);
  const std::size_t token = sequence.first_token + t;
  conv.out[token * conv.width + channel] = conv.rows[(token * 3 + 1) * conv.width + channel] * sum;
}

}  // namespace

cudaError_t short_conv(Queue& queue, const ShortConvArgs& args, const StateSequence* sequences,
                       std::size_t n_tokens_max) {
  const GatedConv conv{args.rows, args.taps, args.width, args.n_taps, args.out};
  const auto n_sequences = static_cast<unsigned>(args.sequences.size());
  const cudaError_t failed = launch(
      queue, {{blocks_of(n_tokens_max * args.width, kConvThreads), n_sequences}, kConvThreads},
      convolve_rows, conv, sequences);
  if (failed != cudaSuccess) return failed;
  return launch(queue, {{blocks_of(args.width, kConvThreads), n_sequences}, kConvThreads},
                carry_rows<GatedConv>, conv, sequences);
}

}  // namespace satchel::kernels::cuda
