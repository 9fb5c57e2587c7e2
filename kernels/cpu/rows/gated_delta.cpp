#include "kernels/cpu/rows/recurrent.h"

namespace satchel::kernels::cpu {
namespace {

// Queries and keys of a token get the length 1, and queries the factor 1 / sqrt(key_dim).
void make_unit(const VectorOpsTable& table, const GatedDeltaArgs& args, std::size_t token) {
  const std::size_t n = args.key_dim;
  const auto by_root = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  std::array<float, kStateDimMax> of_keys, of_queries;
  std::fill_n(of_keys.data(), n, by_root);
  std::fill_n(of_queries.data(), n, by_root * by_root);
  float* row = args.convolved + token * args.n_channels();
  for (const float* factors : {of_queries.data(), of_keys.data()})
    for (std::size_t head = 0; head < args.n_key_heads; ++head, row += n)
      table.rms_norm(row, factors, n, kLengthEpsilon / static_cast<float>(n), row);
}

// One value head of one sequence.
struct DeltaHead {
  const VectorOpsTable& table;
  const GatedDeltaArgs& args;
  const StateSequence& sequence;
  std::size_t head;

  // rms_norm of the row, gated.
  void finish(std::size_t token) const {
    const std::size_t n = args.value_dim, at = (token * args.n_value_heads + head) * n;
    std::array<float, kStateDimMax> gate;
    std::copy_n(args.gate + at, n, gate.data());
    table.rms_norm(args.out + at, args.gain, n, args.epsilon, args.out + at);
    table.glu_silu(gate.data(), args.out + at, n);
    std::copy_n(gate.data(), n, args.out + at);
  }

  HeadFactors factors(std::size_t token) const {
    const std::size_t at = token * args.n_value_heads + head;
    return {.kept = std::exp(args.rate[head] * softplus(args.decay[at] + args.decay_bias[head])),
            .strength = 1 / (1 + std::exp(-args.strength[at]))};
  }

  void run() const {
    const std::size_t n_keys = args.n_key_heads, key_head = args.key_head(head);
    const LinearAttentionJob job{
        .q = args.convolved + key_head * args.key_dim,
        .k = args.convolved + (n_keys + key_head) * args.key_dim,
        .v = args.convolved + 2 * n_keys * args.key_dim + head * args.value_dim,
        .row_stride = args.n_channels(),
        .out_stride = args.n_value_heads * args.value_dim,
        .key_dim = args.key_dim,
        .value_dim = args.value_dim,
        .corrects = true,
        .out = args.out + head * args.value_dim};
    run_head(table, job, sequence, args.tail_values() + head * args.key_dim * args.value_dim,
             [&](std::size_t token) { return factors(token); });
    for (std::size_t t = 0; t < sequence.n_tokens; ++t) finish(sequence.first_token + t);
  }
};

}  // namespace

Result<void> CpuBackend::gated_delta(const GatedDeltaArgs& args) {
  args.check();
  const VectorOpsTable& table = context_.kernels.vector_ops;
  const std::size_t n_tokens = args.n_tokens();
  convolve(context_, args.convolution(), args.sequences);
  context_.pool.parallel_for(n_tokens, items_of_a_share(4 * args.n_key_heads * args.key_dim),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t t = begin; t < end; ++t) make_unit(table, args, t);
                             });
  context_.pool.parallel_for(args.n_value_heads,
                             items_of_a_share(n_tokens * args.key_dim * args.value_dim),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t head = begin; head < end; ++head)
                                 for (const StateSequence& sequence : args.sequences)
                                   DeltaHead{table, args, sequence, head}.run();
                             });
  return {};
}

}  // namespace satchel::kernels::cpu
