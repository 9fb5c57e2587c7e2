// Base of the rules that find retrieval heads: prefill texts, score each layer, turn scores into
// budgets. For this folder only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/eval/lane_rules/seen_layer.h"

namespace satchel::eval {

struct SeenText {
  std::string name;
  std::vector<std::int32_t> ids;
};

class AttentionRule {
 public:
  virtual ~AttentionRule() = default;
  virtual std::span<const SeenText> texts() const = 0;
  virtual std::size_t n_scores() const = 0;
  // Writes one layer's part of a text's scores [n_scores()].
  virtual void look(std::size_t text, const SeenLayer& layer, std::span<double> scores) const = 0;
  // The share of tokens that each lane keeps [n_lanes]; their mean is `keep`.
  virtual Result<std::vector<double>> shares(std::span<const double> scores, double keep) const = 0;
};

// Makes the profile from the mean scores of all texts.
//   called  the rule's name, for HeadBudgets::source
Result<LaneFindings> find_by_attention(const AttentionRule& rule, std::string_view called,
                                       const LaneSearch& search);

// Tokens that every lane keeps of a text of kProfileTokens: 4 sinks and a short tail of 16, as the
// recipe `satchel` protects.
inline constexpr std::size_t kLaneTokensMin = 20;

// The indices of values, largest first; ties go to the lower index.
std::vector<std::size_t> largest_first(std::span<const double> values);

// Budgets for a rule that only ranks lanes. In order of importance, ties to the lower, lanes keep
// everything until the total is spent, the last of them the rest; all others keep the minimum.
std::vector<double> whole_by_importance(std::span<const double> importances, double keep);

}  // namespace satchel::eval
