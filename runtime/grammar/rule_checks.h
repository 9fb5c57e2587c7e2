// What must hold of the rules of a grammar before texts are matched with it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/grammar/grammar.h"

namespace satchel::runtime {

struct RuleChecks {
  // Both by index; none: all is well.
  std::optional<std::size_t> endless;  // no text can end it
  std::vector<std::size_t> circle;     // each begins with the next, the last with the first
};

// entries  of the rules' steps; the first is the whole text's. Rules that it does not reach are not
//          looked at
RuleChecks check_rules(const std::vector<GrammarStep>& steps,
                       const std::vector<std::uint32_t>& entries);

}  // namespace satchel::runtime
