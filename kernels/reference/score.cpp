// Columns of the attention matrix, key by key, in float64: what score() must compute.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/cache_ops.h"
#include "kernels/reference/page_codec.h"

namespace satchel::kernels::reference {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

struct Key {
  const float* k;  // [head_dim]
  std::int32_t position;
};

bool sees(const ScoreArgs& args, std::int32_t query, std::int32_t key) {
  const auto back = std::int64_t{query} - std::int64_t{key};
  if (args.is_causal && back < 0) return false;
  return args.window == 0 || back < static_cast<std::int64_t>(args.window);
}

double probability(const ScoreArgs& args, std::size_t token, std::size_t head, const Key& key) {
  const std::size_t row = token * args.n_heads + head;
  double logit = 0;
  for (std::size_t c = 0; c < args.head_dim; ++c)
    logit += static_cast<double>(args.q[row * args.head_dim + c]) * static_cast<double>(key.k[c]);
  logit *= static_cast<double>(args.scale);
  const auto cap = static_cast<double>(args.soft_cap);
  if (cap > 0) logit = cap * std::tanh(logit / cap);
  const double weight = args.weights == nullptr ? 1 : static_cast<double>(args.weights[token]);
  return weight * std::exp(logit - static_cast<double>(args.lse[row]));
}

// -infinity where no query sees the key and queries are reduced by their maximum.
double reduced(const ScoreArgs& args, const Key& key) {
  const bool sum = args.queries == ScoreArgs::Queries::sum;
  double heads = args.heads == ScoreArgs::Heads::max ? kNone : 0;
  for (std::size_t h = args.first_head; h < args.first_head + args.n_group; ++h) {
    double queries = sum ? 0 : kNone;
    for (std::size_t i = 0; i < args.batch.n_tokens; ++i) {
      if (!sees(args, args.batch.positions[i], key.position)) continue;
      const double p = probability(args, i, h, key);
      queries = sum ? queries + p : std::max(queries, p);
    }
    if (args.heads == ScoreArgs::Heads::max)
      heads = std::max(heads, queries);
    else
      heads += queries / static_cast<double>(args.n_group);
  }
  return heads;
}

void add_score(const ScoreArgs& args, const Key& key, float& score) {
  const auto found = static_cast<float>(reduced(args, key));
  score = args.queries == ScoreArgs::Queries::sum ? score + found : std::max(score, found);
}

void score_run(const ScoreArgs& args, const ExactRun& run, float* scores) {
  std::vector<float> key(args.head_dim);
  for (std::size_t j = 0; j < run.n_tokens; ++j) {
    for (std::size_t c = 0; c < args.head_dim; ++c)
      key[c] = half_to_float(run.k[j * args.head_dim + c]);
    add_score(args, {key.data(), run.positions[j]}, scores[j]);
  }
}

// The key as it would have been encoded `shift` positions later.
void rotate(const RopeTable& table, std::int32_t shift, float* key) {
  const std::size_t n_pairs = table.inverse_frequency.size();
  for (std::size_t i = 0; i < n_pairs; ++i) {
    float& first = key[table.pairs == RopePairs::adjacent ? 2 * i : i];
    float& second = key[table.pairs == RopePairs::adjacent ? 2 * i + 1 : i + n_pairs];
    const double phase = static_cast<double>(shift) * table.inverse_frequency[i];
    const double a = static_cast<double>(first), b = static_cast<double>(second);
    first = static_cast<float>(a * std::cos(phase) - b * std::sin(phase));
    second = static_cast<float>(a * std::sin(phase) + b * std::cos(phase));
  }
}

void score_page(const ScoreArgs& args, const PageView& page, float* scores) {
  SATCHEL_ASSERT(page.layout->head_dim == args.head_dim);
  std::vector<float> keys(page.n_tokens * args.head_dim);
  decode_operand(*page.layout, Operand::k, page.bytes, page.n_tokens, keys.data());
  const auto* positions =
      reinterpret_cast<const std::int32_t*>(page.bytes + page.layout->positions_at);
  for (std::size_t j = 0; j < page.n_tokens; ++j) {
    if (!page.live.has(j)) continue;
    float* key = keys.data() + j * args.head_dim;
    if (page.shift != 0) rotate(args.rope, page.shift, key);
    add_score(args, {key, positions[j] + page.shift}, scores[j]);
  }
}

}  // namespace

void score(const ScoreArgs& args) {
  SATCHEL_ASSERT(args.n_group > 0 && args.first_head + args.n_group <= args.n_heads);
  SATCHEL_ASSERT(args.heads == ScoreArgs::Heads::mean || args.queries == ScoreArgs::Queries::max);
  float* scores = args.scores;
  for (const ExactRun& run : args.keys.runs) {
    score_run(args, run, scores);
    scores += run.n_tokens;
  }
  for (const PageView& page : args.keys.pages) {
    score_page(args, page, scores);
    scores += page.n_tokens;
  }
}

}  // namespace satchel::kernels::reference
