#include "kernels/cuda/rows/conv_inputs.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

// What every sequence of a call has in common.
struct PlainConv {
  const float *rows, *taps, *bias;
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
  const std::size_t channel = i % conv.width;
  const float bias = conv.bias == nullptr ? 0.0f : conv.bias[channel];
  const float sum = bias + convolved(conv, sequence, i / conv.width, channel);
  conv.out[sequence.first_token * conv.width + i] = sum / (1.0f + expf(-sum));
}

}  // namespace

cudaError_t silu_conv(Queue& queue, const SiluConv& of, const StateSequence* sequences,
                      std::size_t n_sequences, std::size_t n_tokens_max) {
  const PlainConv conv{of.rows, of.taps, of.bias, of.width, of.n_taps, of.out};
  const auto n = static_cast<unsigned>(n_sequences);
  const cudaError_t failed =
      launch(queue, {{blocks_of(n_tokens_max * conv.width, kConvThreads), n}, kConvThreads},
             convolve_silu, conv, sequences);
  if (failed != cudaSuccess) return failed;
  return launch(queue, {{blocks_of(conv.width, kConvThreads), n}, kConvThreads},
                carry_rows<PlainConv>, conv, sequences);
}

}  // namespace satchel::kernels::cuda
