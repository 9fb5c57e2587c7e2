// What the rules on retrieval heads have in common: texts are read, each layer adds to scores, scores
// become shares. For this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/profile/rules/seen_layer.h"

namespace satchel::runtime {

struct SeenText {
  std::string name;
  std::vector<std::int32_t> ids;
};

class AttentionRule {
 public:
  virtual ~AttentionRule() = default;
  virtual std::span<const SeenText> texts() const = 0;
  virtual std::size_t n_scores() const = 0;
  // One layer of one text: writes its part of that text's scores [n_scores()].
  virtual void look(std::size_t text, const SeenLayer& layer, std::span<double> scores) const = 0;
  // The share of its tokens that each lane keeps [n_lanes], for all lanes together `keep`.
  virtual Result<std::vector<double>> shares(std::span<const double> scores, double keep) const = 0;
};

// The table is that of the mean scores of all texts.
//   called  the rule's name, for LaneShares::source
Result<LaneFindings> find_by_attention(const AttentionRule& rule, std::string_view called,
                                       const LaneSearch& search);

// What a lane keeps in any case, of a text as long as those that KVzip's table is made from: 4 first
// tokens and a short tail of 16, as the recipe `satchel` protects.
inline constexpr std::size_t kLaneTokensMin = 20;

// The indices of values in the order of their size, the largest first, ties to the lower.
std::vector<std::size_t> largest_first(std::span<const double> values);

// Lanes in the order of their worth, ties to the lower, are whole until the total is spent, the last
// of them as far as it goes; the others have the least. So of a rule that only says which lanes
// remember.
std::vector<double> whole_by_worth(std::span<const double> worths, double keep);

}  // namespace satchel::runtime
