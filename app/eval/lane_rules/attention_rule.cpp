#include "app/eval/lane_rules/attention_rule.h"

#include <algorithm>
#include <numeric>

namespace satchel::eval {
namespace {

Result<kvcache::HeadBudgets> table_of(const AttentionRule& rule, const runtime::Engine& engine,
                                      std::span<const double> scores, std::string source) {
  kvcache::HeadBudgets table;
  table.model = engine.fingerprint();
  table.name = engine.config().name;
  table.source = std::move(source);
  for (const double keep : runtime::kLaneKeeps) {
    SATCHEL_TRY_ASSIGN(std::vector<double> shares, rule.shares(scores, keep));
    table.rows.push_back({.keep = keep, .shares = std::move(shares)});
  }
  return table;
}

}  // namespace

Result<LaneFindings> find_by_attention(const AttentionRule& rule, std::string_view called,
                                       const LaneSearch& search) {
  const std::span<const SeenText> texts = rule.texts();
  std::vector<std::vector<double>> of_texts;
  std::vector<double> mean(rule.n_scores());
  std::string source = std::string(called) + " over";
  for (std::size_t t = 0; t < texts.size(); ++t) {
    std::vector<double>& scores = of_texts.emplace_back(rule.n_scores());
    const SeeLayer see = [&](const SeenLayer& layer) { rule.look(t, layer, scores); };
    SATCHEL_TRY(read_seen(search, texts[t].ids, t, texts.size(), see));
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += scores[i] / static_cast<double>(texts.size());
    source += " " + texts[t].name;
  }
  LaneFindings found;
  SATCHEL_TRY_ASSIGN(found.table, table_of(rule, search.engine, mean, std::move(source)));
  for (std::size_t t = 0; t < texts.size(); ++t) {
    SATCHEL_TRY_ASSIGN(found.of_texts.emplace_back(),
                       table_of(rule, search.engine, of_texts[t], texts[t].name));
  }
  return found;
}

std::vector<std::size_t> largest_first(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return values[i]; });
  return order;
}

std::vector<double> whole_by_importance(std::span<const double> importances, double keep) {
  constexpr double kLeast = double(kLaneTokensMin) / double(runtime::kProfileTokens);
  std::vector<double> shares(importances.size(), kLeast);
  double left = (keep - kLeast) * static_cast<double>(importances.size());
  for (const std::size_t lane : largest_first(importances)) {
    const double more = std::clamp(left, 0.0, 1 - kLeast);
    shares[lane] += more;
    left -= more;
  }
  return shares;
}

}  // namespace satchel::eval
