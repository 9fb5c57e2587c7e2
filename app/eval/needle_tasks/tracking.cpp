// Variables set to a number or to one another, the statements scattered in their order over the
// text: which of them hold the number? (RULER's variable tracking: chains of a number and three
// hops.)
#include <algorithm>

#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {
namespace {

// n different names of four capital letters.
std::vector<std::string> draw_variables(Rng& rng, std::size_t n) {
  std::vector<std::string> out;
  while (out.size() < n) {
    std::string name;
    for (int i = 0; i < 4; ++i) name += static_cast<char>('A' + draw_below(rng, 26));
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

}  // namespace

NeedleContext make_tracking(Rng& rng, std::size_t size) {
  constexpr std::size_t kChains = 3, kLength = 4;
  const std::vector<std::string> variables = draw_variables(rng, kChains * kLength);
  std::vector<std::string> facts;
  NeedleContext out;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::size_t chain = i % kChains;
    if (i < kChains) {
      // 5 digits, and no number twice: the first says which chain it is.
      const std::string number = std::to_string(i + 1) + draw_number(rng, 4);
      facts.push_back("VAR " + variables[i] + " = " + number + ".");
      out.needles.push_back(
          {.ask = "\n\nThe variables that have the value " + number + " are VAR", .values = {}});
    } else {
      facts.push_back("VAR " + variables[i] + " = VAR " + variables[i - kChains] + ".");
    }
    out.needles[chain].values.push_back(variables[i]);
  }
  out.parts = {hide(rng, facts, filler_sentences(rng, size))};
  return out;
}

}  // namespace satchel::eval
