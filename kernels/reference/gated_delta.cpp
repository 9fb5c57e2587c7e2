#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/backend_reference.h"
#include "kernels/reference/recurrent.h"

namespace satchel::kernels::reference {
namespace {

std::vector<double> of_length_one(const float* x, std::size_t n) {
  std::vector<double> out(x, x + n);
  double squares = 0;
  for (const double value : out) squares += value * value;
  for (double& value : out) value /= std::sqrt(squares + static_cast<double>(kLengthEpsilon));
  return out;
}

// One value head of one sequence.
struct DeltaHead {
  const GatedDeltaArgs& args;
  const StateSequence& sequence;
  std::size_t head;

  std::size_t offset() const { return args.tail_values() + head * args.key_dim * args.value_dim; }

  // qᵀS / sqrt(key_dim) behind one token. S is rounded to fp32 behind each, so that it does not
  // depend on where chunks end.
  std::vector<double> step(std::size_t token, std::vector<float>& s) const {
    const std::size_t n_k = args.key_dim, n_v = args.value_dim, at = token * args.n_value_heads;
    const float* row = args.convolved + token * args.n_channels();
    const std::size_t key_head = args.key_head(head), n_keys = args.n_key_heads;
    const std::vector<double> q = of_length_one(row + key_head * n_k, n_k),
                              k = of_length_one(row + (n_keys + key_head) * n_k, n_k);
    const float* v = row + 2 * n_keys * n_k + head * n_v;
    const double kept = std::exp(static_cast<double>(args.rate[head]) *
                                 softplus(static_cast<double>(args.decay[at + head]) +
                                          static_cast<double>(args.decay_bias[head])));
    const double strength = sigmoid(static_cast<double>(args.strength[at + head]));
    std::vector<double> out(n_v);
    for (std::size_t j = 0; j < n_v; ++j) {
      double known = 0;
      for (std::size_t i = 0; i < n_k; ++i) known += k[i] * static_cast<double>(s[i * n_v + j]);
      const double delta = strength * (static_cast<double>(v[j]) - kept * known);
      for (std::size_t i = 0; i < n_k; ++i) {
        float& value = s[i * n_v + j];
        value = static_cast<float>(kept * static_cast<double>(value) + k[i] * delta);
        out[j] += q[i] * static_cast<double>(value);
      }
      out[j] /= std::sqrt(static_cast<double>(n_k));
    }
    return out;
  }

  void put(std::size_t token, std::vector<double> values) const {
    const std::size_t n = args.value_dim, first = (token * args.n_value_heads + head) * n;
    double squares = 0;
    for (const double value : values) squares += value * value;
    const double scale =
        1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(args.epsilon));
    for (std::size_t j = 0; j < n; ++j)
      args.out[first + j] =
          static_cast<float>(values[j] * scale * static_cast<double>(args.gain[j]) *
                             silu(static_cast<double>(args.gate[first + j])));
  }

  void run() const {
    std::vector<float> s(args.key_dim * args.value_dim);
    if (sequence.before != nullptr)
      s.assign(sequence.before + offset(), sequence.before + offset() + s.size());
    for (std::size_t t = 0; t < sequence.n_tokens; ++t)
      put(sequence.first_token + t, step(sequence.first_token + t, s));
    std::copy(s.begin(), s.end(), sequence.behind + offset());
  }
};

}  // namespace

Result<void> ReferenceBackend::gated_delta(const GatedDeltaArgs& args) {
  args.check();
  for (const StateSequence& sequence : args.sequences) {
    convolve(args.convolution(), sequence);
    for (std::size_t head = 0; head < args.n_value_heads; ++head)
      DeltaHead{args, sequence, head}.run();
  }
  return {};
}

}  // namespace satchel::kernels::reference
