// Columns of the attention matrix, key by key, in float64: what score() must compute.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/backend_reference.h"
#include "kernels/reference/lane_keys.h"

namespace satchel::kernels::reference {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

double value(const ScoreArgs& args, std::size_t token, std::size_t head, const LaneKey& key) {
  const double lse = static_cast<double>(args.lse[token * args.lane.n_heads + head]);
  const double weight = args.weights == nullptr ? 1 : static_cast<double>(args.weights[token]);
  const double share = std::exp(logit(args.lane, token, head, key) - lse);
  if (args.of == ScoreArgs::Of::probability) return weight * share;
  const std::int64_t n_seen = std::int64_t{args.lane.batch.positions[token]} + 1 + args.n_beside;
  const double mean = 1 / static_cast<double>(std::max<std::int64_t>(1, n_seen));
  return share < (1 - kBelowSlack) * mean ? weight : 0;
}

// -infinity where no query sees the key and queries are reduced by their maximum.
double reduced(const ScoreArgs& args, const LaneKey& key) {
  const LaneQueries& lane = args.lane;
  const bool sum = args.queries == ScoreArgs::Queries::sum;
  double heads = args.heads == ScoreArgs::Heads::max ? kNone : 0;
  for (std::size_t h = lane.first_head; h < lane.first_head + lane.n_group; ++h) {
    double queries = sum ? 0 : kNone;
    for (std::size_t i = 0; i < lane.batch.n_tokens; ++i) {
      if (!can_attend(lane, lane.batch.positions[i], key.position)) continue;
      const double found = value(args, i, h, key);
      queries = sum ? queries + found : std::max(queries, found);
    }
    if (args.heads == ScoreArgs::Heads::max)
      heads = std::max(heads, queries);
    else
      heads += queries / static_cast<double>(lane.n_group);
  }
  return heads;
}

}  // namespace

Result<void> ReferenceBackend::score(std::span<const ScoreArgs> items) {
  for (const ScoreArgs& args : items) {
    args.check();
    for_each_key(args.lane, [&](const LaneKey& key) {
      const auto found = static_cast<float>(reduced(args, key));
      float& score = args.scores[key.slot];
      score = args.queries == ScoreArgs::Queries::sum ? score + found : std::max(score, found);
    });
  }
  return {};
}

}  // namespace satchel::kernels::reference
