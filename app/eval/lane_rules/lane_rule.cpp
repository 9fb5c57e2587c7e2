#include "app/eval/lane_rules/lane_rule.h"

#include <algorithm>

namespace satchel::eval {
namespace {

template <class Which>
std::string names_of(Which which) {
  std::string names;
  for (const LaneRule* rule : lane_rules())
    if (which(*rule)) names += (names.empty() ? "" : ", ") + std::string(rule->name);
  return names;
}

}  // namespace

extern const LaneRule rule_kvzip, rule_razor, rule_headkv, rule_duo;

std::span<const LaneRule* const> lane_rules() {
  static constexpr const LaneRule* kRules[] = {&rule_kvzip, &rule_razor, &rule_headkv, &rule_duo};
  return kRules;
}

const LaneRule* find_lane_rule(std::string_view name) {
  const auto rules = lane_rules();
  const auto found = std::ranges::find(rules, name, &LaneRule::name);
  return found == rules.end() ? nullptr : *found;
}

std::string lane_rule_names() {
  return names_of([](const LaneRule&) { return true; });
}

std::string lane_rules_that_read_texts() {
  return names_of([](const LaneRule& rule) { return rule.reads_texts; });
}

void LaneSearch::tell(std::size_t i, std::size_t n, double share) const {
  if (!progress) return;
  const double done = (static_cast<double>(i) + share) / static_cast<double>(n);
  progress({runtime::Phase::profile, static_cast<std::size_t>(1000 * done), 1000});
}

Result<LaneFindings> find_lanes(const LaneRule& rule, const LaneSearch& search) {
  if (!rule.reads_texts && !search.texts.empty())
    return Error{ErrorKind::invalid, "PARAM",
                 "The rule \"" + std::string(rule.name) +
                     "\" makes its own prompts and takes no texts. Rules that do: " +
                     lane_rules_that_read_texts() + "."};
  SATCHEL_TRY_ASSIGN(LaneFindings found, rule.find(search));
  // A rule that does not look at keys says nothing against what is known of them.
  const auto& known = search.engine.config().head_budgets;
  if (!found.agreement && known != nullptr) found.table.importance = known->importance;
  return found;
}

}  // namespace satchel::eval
