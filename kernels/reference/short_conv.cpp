#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {
namespace {

// s of the sequence's token `at`, which counts from n_taps - 1: what is below stands in the state.
double gated_input(const ShortConvArgs& args, const StateSequence& sequence, std::size_t at,
                   std::size_t channel) {
  if (at + 1 < args.n_taps)
    return sequence.before == nullptr
               ? 0.0
               : static_cast<double>(sequence.before[at * args.width + channel]);
  const std::size_t token = sequence.first_token + at + 1 - args.n_taps;
  const float* row = args.rows + token * 3 * args.width + channel;
  return static_cast<double>(row[0] * row[2 * args.width]);  // fp32, as the state keeps it
}

}  // namespace

// A row of the state is written after it was last read: only older ones go to its place.
Result<void> ReferenceBackend::short_conv(const ShortConvArgs& args) {
  args.check();
  const std::size_t width = args.width;
  for (const StateSequence& sequence : args.sequences) {
    for (std::size_t t = 0; t < sequence.n_tokens; ++t)
      for (std::size_t c = 0; c < width; ++c) {
        double sum = 0;
        for (std::size_t j = 0; j < args.n_taps; ++j)
          sum += static_cast<double>(args.taps[c * args.n_taps + j]) *
                 gated_input(args, sequence, t + j, c);
        const std::size_t token = sequence.first_token + t;
        const auto gate = static_cast<double>(args.rows[(token * 3 + 1) * width + c]);
        args.out[token * width + c] = static_cast<float>(gate * sum);
      }
    for (std::size_t j = 0; j + 1 < args.n_taps; ++j)
      for (std::size_t c = 0; c < width; ++c)
        sequence.behind[j * width + c] =
            static_cast<float>(gated_input(args, sequence, sequence.n_tokens + j, c));
  }
  return {};
}

}  // namespace satchel::kernels::reference
