// MemoryPlanner: what a cache will take, before there is one.
//   bound        never less than what is then allocated; never falls as the text grows
//   expected     what is then held, to the byte where every token stays or each lane's budget is
//                known beforehand (CacheForecast says how nearly where it is not)
//   largest_fit  the longest text whose bound a limit holds
//   threads      const
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/base/result.h"
#include "kvcache/planning/pass_bytes.h"
#include "kvcache/planning/span_policy.h"
#include "kvcache/recipes/recipe.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::kvcache {

struct CacheLayout;

// What a cache of so many tokens, prefilled as one document, takes from the arena. Neither what is
// held at rest, which are the first two figures, nor the total falls as tokens are added.
struct CacheNeed {
  std::size_t fixed_bytes = 0;  // sinks and tails of all lanes, scratch of compaction
  std::size_t page_bytes = 0;   // body, and scores where decoding goes on scoring
  // What is given back: scratch of a prefill in one span, and what is pending until it is decided.
  std::size_t prefill_bytes = 0;
  std::size_t total() const { return fixed_bytes + page_bytes + prefill_bytes; }
};
Result<CacheNeed> cache_need(const CacheShape& shape, const Recipe& recipe, std::size_t n_tokens);

class MemoryPlanner {
 public:
  static Result<MemoryPlanner> make(const CacheShape& shape, const Recipe& recipe,
                                    const PassBytes& pass);

  // Of a cache that holds n_tokens and can prefill them in spans of so many.
  struct Bound {
    std::size_t cache_bytes = 0, scratch_bytes = 0;
    std::size_t total() const { return cache_bytes + scratch_bytes; }
  };
  Bound bound(std::size_t n_tokens, std::size_t span_tokens = kSpanWanted) const;
  // CacheStats::bytes when a text of so many tokens has been prefilled and decided, in an arena of
  // which others hold some all the time.
  struct Memory {
    std::size_t arena_bytes = 0, others_bytes = 0;
  };
  std::size_t expected(std::size_t n_tokens, const Memory& memory) const;
  // Tokens, n_most at most.
  std::size_t largest_fit(std::size_t bytes, std::size_t n_most,
                          std::size_t span_tokens = kSpanWanted) const;

 private:
  MemoryPlanner(std::shared_ptr<const CacheLayout> layout, const PassBytes& pass)
      : layout_(std::move(layout)), pass_(pass) {}
  std::shared_ptr<const CacheLayout> layout_;
  PassBytes pass_;
};

}  // namespace satchel::kvcache
