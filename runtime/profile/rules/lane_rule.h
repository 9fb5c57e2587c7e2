// LaneRule: a way to find the lanes of a model that do the remembering: by KVzip's budgets, or as a
// paper on retrieval heads says. Each gives an ordinary lane table (kvcache::LaneShares), so that all
// can be used, and compared by what is recalled with them. One rule a file; lane_rule.cpp is their
// list.
//   needs   an Engine that nobody else uses meanwhile
//   errors  PARAM (texts too short, or given to a rule that makes its own; a model that shows nothing
//           of what the rule looks for), MEMORY, CACHE_FULL, cancelled/STOPPED, those of tokenizer
//           and model
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/lanes/lane_shares.h"
#include "runtime/engine.h"
#include "runtime/profile/lane_profiler.h"
#include "runtime/progress.h"

namespace satchel::runtime {

struct LaneSearch {
  Engine& engine;
  std::span<const ProfileText> texts;  // empty: those that ship, or what the rule makes
  std::stop_token stop;
  const ProgressFn& progress;  // Phase::profile, in thousandths; may be empty
  // Part number `i` of n has been done to this share.
  void tell(std::size_t i, std::size_t n, double share) const;
};
struct LaneFindings {
  kvcache::LaneShares table;
  std::vector<kvcache::LaneShares>
      of_texts;  // what each text alone would give; rows as the table's
  // LaneProfiler::agreement(), also where that is too little for the table; nothing: not learned.
  std::optional<double> agreement = std::nullopt;
};

enum class ReadsTexts { yes, makes_its_own };
struct LaneRule {
  std::string_view name;   // as commands call it
  std::string_view about;  // for people
  ReadsTexts reads_texts = ReadsTexts::yes;
  Result<LaneFindings> (*find)(const LaneSearch& search) = nullptr;
};
std::span<const LaneRule* const> lane_rules();          // the first is the default
const LaneRule* find_lane_rule(std::string_view name);  // nullptr: there is none of this name
std::string lane_rule_names();                          // "kvzip, razor, …"
std::string lane_rules_that_read_texts();               // of them

Result<LaneFindings> find_lanes(const LaneRule& rule, const LaneSearch& search);

}  // namespace satchel::runtime
