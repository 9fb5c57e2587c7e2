#include <algorithm>

#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

// Chosen: fewer products take less time than waking a second thread.
constexpr std::size_t kShareProducts = 16384;

// The channels begin … end - 1 of one sequence.
struct ConvChannels {
  const ShortConvArgs& args;
  const StateSequence& sequence;
  std::size_t begin, end;

  // Calls each(channel, s) for the sequence's token `at`, which counts from n_taps - 1: what is
  // below stands in the state.
  template <class Each>
  void inputs(std::size_t at, const Each& each) const {
    const std::size_t width = args.width;
    if (at + 1 >= args.n_taps) {
      const float* b = args.rows + (sequence.first_token + at + 1 - args.n_taps) * 3 * width;
      const float* x = b + 2 * width;
      for (std::size_t c = begin; c < end; ++c) each(c, b[c] * x[c]);
    } else if (sequence.before != nullptr) {
      const float* s = sequence.before + at * width;
      for (std::size_t c = begin; c < end; ++c) each(c, s[c]);
    } else {
      for (std::size_t c = begin; c < end; ++c) each(c, 0.0f);
    }
  }

  void convolve() const {
    for (std::size_t t = 0; t < sequence.n_tokens; ++t) {
      const std::size_t token = sequence.first_token + t;
      float* out = args.out + token * args.width;
      std::fill(out + begin, out + end, 0.0f);
      for (std::size_t j = 0; j < args.n_taps; ++j)
        inputs(t + j,
               [&](std::size_t c, float s) { out[c] += args.taps[c * args.n_taps + j] * s; });
      const float* gate = args.rows + (token * 3 + 1) * args.width;
      for (std::size_t c = begin; c < end; ++c) out[c] *= gate[c];
    }
  }

  // A row is written after it was last read: only older ones go to its place.
  void carry() const {
    for (std::size_t j = 0; j + 1 < args.n_taps; ++j) {
      float* to = sequence.behind + j * args.width;
      inputs(sequence.n_tokens + j, [&](std::size_t c, float s) { to[c] = s; });
    }
  }
};

}  // namespace

Result<void> CpuBackend::short_conv(const ShortConvArgs& args) {
  args.check();
  const std::size_t n_products = std::max<std::size_t>(1, args.n_tokens() * args.n_taps);
  context_.pool.parallel_for(args.width, std::max<std::size_t>(16, kShareProducts / n_products),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (const StateSequence& sequence : args.sequences) {
                                 const ConvChannels channels{args, sequence, begin, end};
                                 channels.convolve();
                                 channels.carry();
                               }
                             });
  return {};
}

}  // namespace satchel::kernels::cpu
