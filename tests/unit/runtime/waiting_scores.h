// What a scorer gives the tokens of a prompt that the bundled model has read, in every lane: for
// tests that compare scores with those of other implementations.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {

using Ids = std::vector<std::int32_t>;
using Scores = std::vector<std::vector<float>>;  // [n_lanes][n_tokens]

// Scores wait where a decision does: second_pass fires only when asked.
inline std::string waiting_recipe(const std::string& scorer) {
  return R"({ "recipe": 1, "name": "waits", "source": "a test",
              "differs": "in nothing", "keep": 0.5, "short_tail": 16,
              "trigger": { "use": "second_pass" }, "scorer": )" +
         scorer + R"(,
              "filter": [ { "use": "protect", "sinks": 4, "tail": 16 } ],
              "allocator": { "use": "over_all" }, "assigner": { "use": "top_k" },
              "merger": { "use": "none" }, "codec": { "k": "exact", "v": "exact" },
              "reader": { "use": "all" } })";
}

struct WaitingScores {
  TestModel model;
  std::unique_ptr<kvcache::Cache> cache = {};

  void read(const std::string& scorer, const Ids& ids) {
    constexpr std::size_t kArena = std::size_t{32} << 20;
    auto arena = value_of(kvcache::Arena::open(model.backend, kArena));
    cache =
        value_of(kvcache::Cache::open(std::move(arena), model.config().cache_shape(),
                                      value_of(kvcache::Recipe::parse(waiting_recipe(scorer)))));
    model.read(*cache, ids);
  }
  Scores scores() const {
    Scores scores;
    for (std::size_t i = 0; i < model.config().cache_shape().n_lanes(); ++i)
      scores.push_back(value_of(cache->inspector().pending_scores(i)));
    return scores;
  }
};

inline std::set<std::size_t> best(const std::vector<float>& scores, std::size_t n) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n)};
}

}  // namespace satchel::runtime
