// Texts held against a grammar, for tests.
#pragma once

#include <string_view>

#include "runtime/grammar/grammar_matcher.h"

namespace satchel::test {

enum class Fit { whole, begun, refused };

inline Fit fit(const runtime::Grammar& grammar, std::string_view text) {
  runtime::GrammarMatcher matcher(grammar);
  runtime::GrammarMatcher::State state = matcher.start();
  for (const char byte : text) {
    state = matcher.after(state, static_cast<std::uint8_t>(byte));
    if (state == runtime::GrammarMatcher::kRefused) return Fit::refused;
  }
  return matcher.may_end(state) ? Fit::whole : Fit::begun;
}

}  // namespace satchel::test
