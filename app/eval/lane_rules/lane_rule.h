// LaneRule: a method to measure a model's head budgets: KVzip's, or that of a paper on retrieval
// heads. All give the same kind of profile (kvcache::HeadBudgets), so they can be exchanged and
// compared by recall. One rule per file; lane_rule.cpp lists them.
//   needs   exclusive use of the Engine
//   errors  PARAM (texts too short, or given to a rule that makes its own; the rule found nothing
//           in this model), MEMORY, CACHE_FULL, cancelled/STOPPED, those of tokenizer and model
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/profile/head_budgets.h"
#include "runtime/engine.h"
#include "runtime/profile/lane_profiler.h"
#include "runtime/progress.h"

namespace satchel::eval {

struct LaneSearch {
  runtime::Engine& engine;
  std::span<const runtime::ProfileText> texts;  // empty: the shipped ones, or those the rule makes
  std::stop_token stop;
  const runtime::ProgressFn& progress;  // Phase::profile, in thousandths; may be empty
  // Reports that part i of n is done to this share.
  void tell(std::size_t i, std::size_t n, double share) const;
};
struct LaneFindings {
  kvcache::HeadBudgets table;
  std::vector<kvcache::HeadBudgets>
      of_texts;  // the profile of each text alone, with the table's rows
  // LaneProfiler::agreement(), even if too low for the table; nothing: not learned.
  std::optional<double> agreement = std::nullopt;
};

struct LaneRule {
  std::string_view name;    // as commands call it
  std::string_view about;   // for people
  bool reads_texts = true;  // else it makes its own
  Result<LaneFindings> (*find)(const LaneSearch& search) = nullptr;
};
std::span<const LaneRule* const> lane_rules();          // the first is the default
const LaneRule* find_lane_rule(std::string_view name);  // null: unknown
std::string lane_rule_names();                          // "kvzip, razor, …"
std::string lane_rules_that_read_texts();

Result<LaneFindings> find_lanes(const LaneRule& rule, const LaneSearch& search);

}  // namespace satchel::eval
