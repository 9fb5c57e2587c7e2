#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

// Chosen: fewer products take less time than waking a second thread.
constexpr std::size_t kShareProducts = 16384;
constexpr std::size_t kTokens = 64;  // chosen: S comes from memory and goes back once for so many

std::size_t items_of_a_share(std::size_t products_of_item) {
  return std::max<std::size_t>(1, kShareProducts / std::max<std::size_t>(1, products_of_item));
}

float softplus(float x) {
  return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x)));
}

// Channels first … first + n - 1 of one sequence. A row of the state is written after it was last
// read: only older ones go to its place.
void convolve(const VectorOpsTable& table, const GatedDeltaArgs& args,
              const StateSequence& sequence, std::size_t first, std::size_t n) {
  const std::size_t width = args.n_channels(), at = sequence.first_token * width;
  const float* const rows = args.rows + at;
  table.conv_silu({.before = sequence.before,
                   .rows = rows,
                   .taps = args.taps,
                   .n_tokens = sequence.n_tokens,
                   .width = width,
                   .n_taps = args.n_taps,
                   .first = first,
                   .n = n,
                   .out = args.convolved + at});
  for (std::size_t j = 0; j + 1 < args.n_taps; ++j) {
    const std::size_t row = sequence.n_tokens + j;
    float* const to = sequence.behind + j * width + first;
    if (row + 1 >= args.n_taps)
      std::copy_n(rows + (row + 1 - args.n_taps) * width + first, n, to);
    else if (sequence.before != nullptr)
      std::copy_n(sequence.before + row * width + first, n, to);
    else
      std::fill_n(to, n, 0.0f);
  }
}

// Queries and keys of a token get the length 1, and queries the factor 1 / sqrt(key_dim).
void make_unit(const VectorOpsTable& table, const GatedDeltaArgs& args, std::size_t token) {
  const std::size_t n = args.key_dim;
  const auto by_root = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  std::array<float, kDeltaDimMax> of_keys, of_queries;
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
    std::array<float, kDeltaDimMax> gate;
    std::copy_n(args.gate + at, n, gate.data());
    table.rms_norm(args.out + at, args.gain, n, args.epsilon, args.out + at);
    table.glu_silu(gate.data(), args.out + at, n);
    std::copy_n(gate.data(), n, args.out + at);
  }

  // Tokens of the batch.
  void run(std::size_t first, std::size_t n_tokens, const float* before) const {
    std::array<float, kTokens> kept, strength;
    for (std::size_t t = 0; t < n_tokens; ++t) {
      const std::size_t at = (first + t) * args.n_value_heads + head;
      kept[t] = std::exp(args.rate[head] * softplus(args.decay[at] + args.decay_bias[head]));
      strength[t] = 1 / (1 + std::exp(-args.strength[at]));
    }
    const std::size_t n_channels = args.n_channels(), n_keys = args.n_key_heads;
    const std::size_t key_head = args.key_head(head);
    const std::size_t offset = args.tail_values() + head * args.key_dim * args.value_dim;
    const float* const rows = args.convolved + first * n_channels;
    table.delta_rule({.before = before == nullptr ? nullptr : before + offset,
                      .behind = sequence.behind + offset,
                      .q = rows + key_head * args.key_dim,
                      .k = rows + (n_keys + key_head) * args.key_dim,
                      .v = rows + 2 * n_keys * args.key_dim + head * args.value_dim,
                      .row_stride = n_channels,
                      .out_stride = args.n_value_heads * args.value_dim,
                      .kept = kept.data(),
                      .strength = strength.data(),
                      .n_tokens = n_tokens,
                      .key_dim = args.key_dim,
                      .value_dim = args.value_dim,
                      .out = args.out + (first * args.n_value_heads + head) * args.value_dim});
    for (std::size_t t = 0; t < n_tokens; ++t) finish(first + t);
  }

  void run() const {
    const float* before = sequence.before;
    for (std::size_t t = 0; t < sequence.n_tokens; t += kTokens) {
      run(sequence.first_token + t, std::min(kTokens, sequence.n_tokens - t), before);
      before = sequence.behind;
    }
  }
};

}  // namespace

Result<void> CpuBackend::gated_delta(const GatedDeltaArgs& args) {
  args.check();
  const VectorOpsTable& table = context_.kernels.vector_ops;
  const std::size_t n_tokens = args.n_tokens(), n_channels = args.n_channels();
  context_.pool.parallel_for((n_channels + kConvChannels - 1) / kConvChannels,
                             items_of_a_share(n_tokens * args.n_taps * kConvChannels),
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t first = begin * kConvChannels; begin < end;
                                    ++begin, first += kConvChannels)
                                 for (const StateSequence& sequence : args.sequences)
                                   convolve(table, args, sequence, first,
                                            std::min(kConvChannels, n_channels - first));
                             });
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
