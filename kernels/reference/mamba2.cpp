#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/backend_reference.h"
#include "kernels/reference/recurrent.h"

namespace satchel::kernels::reference {
namespace {

// One head of one sequence.
struct MambaHead {
  const Mamba2Args& args;
  const StateSequence& sequence;
  std::size_t head;

  std::size_t offset() const { return args.tail_values() + head * args.state_dim * args.head_dim; }

  // out = y · silu(gate) of one token, which the norm of its group follows. S is rounded to fp32
  // behind each, so that it does not depend on where chunks end.
  void step(std::size_t token, std::vector<float>& s) const {
    const std::size_t n = args.head_dim, at = token * args.n_heads + head;
    const float* row = args.convolved + token * args.n_channels();
    const float *x = row + args.x_at(head), *b = row + args.b_at(head), *c = row + args.c_at(head);
    const double dt =
        softplus(static_cast<double>(args.step[at]) + static_cast<double>(args.step_bias[head]));
    const double kept = std::exp(static_cast<double>(args.rate[head]) * dt);
    for (std::size_t j = 0; j < n; ++j) {
      const auto input = static_cast<double>(x[j]);
      double y = static_cast<double>(args.skip[head]) * input;
      for (std::size_t i = 0; i < args.state_dim; ++i) {
        float& value = s[i * n + j];
        value = static_cast<float>(kept * static_cast<double>(value) +
                                   static_cast<double>(b[i]) * dt * input);
        y += static_cast<double>(c[i]) * static_cast<double>(value);
      }
      const auto gate = static_cast<double>(args.gate[at * n + j]);
      args.out[at * n + j] = static_cast<float>(y * silu(gate));
    }
  }

  void run() const {
    std::vector<float> s(args.state_dim * args.head_dim);
    if (sequence.before != nullptr)
      s.assign(sequence.before + offset(), sequence.before + offset() + s.size());
    for (std::size_t t = 0; t < sequence.n_tokens; ++t) step(sequence.first_token + t, s);
    std::copy(s.begin(), s.end(), sequence.behind + offset());
  }
};

}  // namespace

Result<void> ReferenceBackend::mamba2(const Mamba2Args& args) {
  args.check();
  for (const StateSequence& sequence : args.sequences) {
    convolve(args.convolution(), sequence);
    for (std::size_t head = 0; head < args.n_heads; ++head) MambaHead{args, sequence, head}.run();
  }
  const std::size_t n = args.width() / args.n_groups;
  for (std::size_t row = 0; row < args.n_tokens() * args.n_groups; ++row) {
    float* const out = args.out + row * n;
    SATCHEL_TRY(rms_norm(out, args.gain + row % args.n_groups * n, 1, n, args.epsilon, out));
  }
  return {};
}

}  // namespace satchel::kernels::reference
