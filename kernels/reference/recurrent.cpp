#include "kernels/reference/recurrent.h"

namespace satchel::kernels::reference {
namespace {

// The sequence's row `at` of a channel, which counts from n_taps - 1: below it is in the state.
float channel_input(const SiluConv& conv, const StateSequence& sequence, std::size_t at,
                    std::size_t channel) {
  if (at + 1 < conv.n_taps)
    return sequence.before == nullptr ? 0.0f : sequence.before[at * conv.width + channel];
  return conv.rows[(sequence.first_token + at + 1 - conv.n_taps) * conv.width + channel];
}

}  // namespace

// A row of the state is written after it was last read: only older ones go to its place.
void convolve(const SiluConv& conv, const StateSequence& sequence) {
  const std::size_t width = conv.width;
  for (std::size_t t = 0; t < sequence.n_tokens; ++t)
    for (std::size_t c = 0; c < width; ++c) {
      double sum = conv.bias == nullptr ? 0.0 : static_cast<double>(conv.bias[c]);
      for (std::size_t j = 0; j < conv.n_taps; ++j)
        sum += static_cast<double>(conv.taps[c * conv.n_taps + j]) *
               static_cast<double>(channel_input(conv, sequence, t + j, c));
      conv.out[(sequence.first_token + t) * width + c] = static_cast<float>(silu(sum));
    }
  for (std::size_t j = 0; j + 1 < conv.n_taps; ++j)
    for (std::size_t c = 0; c < width; ++c)
      sequence.behind[j * width + c] = channel_input(conv, sequence, sequence.n_tokens + j, c);
}

}  // namespace satchel::kernels::reference
