// Recipes of tests of scorers: half of the tokens by head budgets, all exact, ends of 4 and 16.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "kvcache/cache/cache.h"

namespace satchel::kvcache {

inline constexpr const char* kWaits = "second_pass";  // scores lie in the store till somebody asks
inline constexpr const char* kDecides = "end_of_prompt";

//   trigger  kWaits or kDecides
//   scorer   JSON of that stage
inline std::string lane_table_recipe(const std::string& trigger, const std::string& scorer) {
  return R"({ "recipe": 1, "name": "lanes", "source": "a test",
              "differs": "in nothing", "keep": 0.5, "short_tail": 16,
              "trigger": { "use": ")" +
         trigger + R"(", "min_tokens": 64 }, "scorer": )" + scorer + R"(,
              "filter": [ { "use": "protect", "sinks": 4, "tail": 16 } ],
              "allocator": { "use": "lane_table" }, "assigner": { "use": "top_k" },
              "merger": { "use": "none" }, "codec": { "k": "exact", "v": "exact" },
              "reader": { "use": "all" } })";
}

// Which of n tokens stay where half of them do: both ends, and between these what scores most.
//   score  of a token, all different
template <class Score>
std::set<std::int32_t> best_half_beside_ends(std::size_t n, const Score& score) {
  constexpr std::size_t kTail = 16;
  std::vector<std::size_t> order(n - kSinkTokens - kTail);
  std::iota(order.begin(), order.end(), kSinkTokens);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
  std::set<std::int32_t> stay;
  for (std::size_t i = 0; i < n / 2 - kSinkTokens - kTail; ++i)
    stay.insert(static_cast<std::int32_t>(order[i]));
  for (std::size_t t = 0; t < kSinkTokens; ++t) stay.insert(static_cast<std::int32_t>(t));
  for (std::size_t t = n - kTail; t < n; ++t) stay.insert(static_cast<std::int32_t>(t));
  return stay;
}

}  // namespace satchel::kvcache
