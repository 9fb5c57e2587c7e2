// PrefillPlanner: what can be prefilled next into a cache, and what that takes.
//   pass    what the model takes beside it, now and in a second pass over what is then pending
//   owns    nothing: what is viewed, and pass, outlive it
#pragma once

#include <cstddef>
#include <utility>

#include "kvcache/planning/cache_view.h"
#include "kvcache/planning/pass_bytes.h"
#include "kvcache/planning/prefill_plan.h"

namespace satchel::kvcache {

class PrefillPlanner {
 public:
  PrefillPlanner(CacheView cache, const PassBytes& pass) : cache_(std::move(cache)), pass_(pass) {}

  // Bytes that must be free so that all of the request fits, and can be decided later; what is
  // pending held no finer than it asks.
  std::size_t needs(const PrefillRequest& request) const;
  // As much of the request as fits: all of it at the finest tier at which it does, else the longest
  // span that fits at the recipe's tier, held finer if that still fits. 0 tokens: not even the
  // least.
  PrefillPlan largest_fit(const PrefillRequest& request, std::size_t free_bytes) const;

 private:
  std::size_t needs(const PrefillPlan& plan) const;
  std::uint8_t coarsest(const PrefillRequest& request, std::size_t free_bytes) const;

  CacheView cache_;
  const PassBytes& pass_;
};

}  // namespace satchel::kvcache
