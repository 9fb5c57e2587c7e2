// What short convolutions of several kinds have in common: inputs that stand in the state, and what
// is carried on. A Conv has `width`, `n_taps` and value(token, channel), its input. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/launch.h"

namespace satchel::kernels::cuda {
namespace {

inline constexpr unsigned kConvThreads = 256;

// The sequence's input `at`, which counts from n_taps - 1: what is below is in the state.
template <class Conv>
__device__ float conv_input(const Conv& conv, const StateSequence& sequence, std::size_t at,
                            std::size_t channel) {
  if (at + 1 < conv.n_taps)
    return sequence.before == nullptr ? 0.0f : sequence.before[at * conv.width + channel];
  return conv.value(sequence.first_token + at + 1 - conv.n_taps, channel);
}

// Of a channel of the sequence's token t.
template <class Conv>
__device__ float convolved(const Conv& conv, const StateSequence& sequence, std::size_t t,
                           std::size_t channel) {
  float sum = 0;
  for (std::size_t j = 0; j < conv.n_taps; ++j)
    sum += conv.taps[channel * conv.n_taps + j] * conv_input(conv, sequence, t + j, channel);
  return sum;
}

// A thread is one channel of one sequence, which is blockIdx.y: a row is written after it was last
// read, as only older ones go to its place.
template <class Conv>
__global__ void __launch_bounds__(kConvThreads)
    carry_rows(Conv conv, const StateSequence* sequences) {
  wait_for_launch_before();
  const StateSequence sequence = sequences[blockIdx.y];
  const std::size_t channel = std::size_t{blockIdx.x} * kConvThreads + threadIdx.x;
  if (channel >= conv.width) return;
  for (std::size_t j = 0; j + 1 < conv.n_taps; ++j)
    sequence.behind[j * conv.width + channel] =
        conv_input(conv, sequence, sequence.n_tokens + j, channel);
}

}  // namespace
}  // namespace satchel::kernels::cuda
