// Recipes of tests of scorers: half of the tokens by a lane table, all exact, ends of 4 and 16.
#pragma once

#include <string>

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

}  // namespace satchel::kvcache
