#include "kernels/cpu/rows/recurrent.h"

namespace satchel::kernels::cpu {
namespace {

// One head of one sequence.
struct MambaHead {
  const VectorOpsTable& table;
  const Mamba2Args& args;
  const StateSequence& sequence;
  std::size_t head;

  // What goes around the state is added, and the sum gated.
  void finish(std::size_t token) const {
    const std::size_t n = args.head_dim;
    const float* const x = args.convolved + token * args.n_channels() + args.x_at(head);
    const std::size_t at = token * args.width() + head * n;
    float* const out = args.out + at;
    std::array<float, kStateDimMax> gate;
    std::copy_n(args.gate + at, n, gate.data());
    for (std::size_t i = 0; i < n; ++i) out[i] += args.skip[head] * x[i];
    table.glu_silu(gate.data(), out, n);
    std::copy_n(gate.data(), n, out);
  }

  HeadFactors factors(std::size_t token) const {
    const float dt = softplus(args.step[token * args.n_heads + head] + args.step_bias[head]);
    return {.kept = std::exp(args.rate[head] * dt), .strength = dt};
  }

  void run() const {
    const LinearAttentionJob job{.q = args.convolved + args.c_at(head),
                                 .k = args.convolved + args.b_at(head),
                                 .v = args.convolved + args.x_at(head),
                                 .row_stride = args.n_channels(),
                                 .out_stride = args.width(),
                                 .key_dim = args.state_dim,
                                 .value_dim = args.head_dim,
                                 .out = args.out + head * args.head_dim};
    run_head(table, job, sequence, args.tail_values() + head * args.head_dim * args.state_dim,
             [&](std::size_t token) { return factors(token); });
    for (std::size_t t = 0; t < sequence.n_tokens; ++t) finish(sequence.first_token + t);
  }
};

}  // namespace

Result<void> CpuBackend::mamba2(const Mamba2Args& args) {
  args.check();
  const VectorOpsTable& table = context_.kernels.vector_ops;
  const std::size_t n_tokens = args.n_tokens(), n_of_group = args.width() / args.n_groups;
  convolve(context_, args.convolution(), args.sequences);
  context_.pool.parallel_for(args.n_heads,
                             items_of_a_share(n_tokens * args.state_dim * args.head_dim),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t head = begin; head < end; ++head)
                                 for (const StateSequence& sequence : args.sequences)
                                   MambaHead{table, args, sequence, head}.run();
                             });
  context_.pool.parallel_for(n_tokens * args.n_groups, items_of_a_share(2 * n_of_group),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t i = begin; i < end; ++i) {
                                 float* const row = args.out + i * n_of_group;
                                 table.rms_norm(row, args.gain + i % args.n_groups * n_of_group,
                                                n_of_group, args.epsilon, row);
                               }
                             });
  return {};
}

}  // namespace satchel::kernels::cpu
