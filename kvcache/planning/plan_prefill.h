// How a prefill is planned: of a cache that is there, or of one that is itself only planned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kvcache/planning/cache_view.h"
#include "kvcache/planning/pass_bytes.h"
#include "kvcache/planning/prefill_plan.h"

namespace satchel::kvcache {

// A lane that keeps so many tokens of a text can afford a long tail.
inline constexpr std::size_t kLongTailBudget = 2 * kTailTokens;

// A prefill at the end of what the cache holds; `finest` bounds the tier of what is pending.
PrefillPlan plan_prefill(const CacheView& cache, const PrefillRequest& request,
                         std::uint8_t finest);
// The same with what is pending as fine as the request asks and free_bytes allow; at the recipe's
// tier also where it does not fit.
PrefillPlan plan_that_fits(const CacheView& cache, const PrefillRequest& request,
                           std::size_t free_bytes);
// Bytes that must be free so that all of the request fits, and can be decided later; what is
// pending is held no finer than it asks. pass: what the model takes beside it, now and in a second
// pass over what is then pending.
std::size_t prefill_needs(const CacheView& cache, const PrefillRequest& request,
                          const PassBytes& pass);
// As much of the request as fits: all of it at the finest tier at which it does, else the longest
// span that fits at the recipe's tier, held finer if that still fits. 0 tokens: not even the least.
PrefillPlan largest_fit(const CacheView& cache, const PrefillRequest& request,
                        const PassBytes& pass, std::size_t free_bytes);
// The part of a lane's new tail that is staged in scratch: new tokens. What was in the tail before
// stays in the lane until the span is committed.
inline std::size_t n_staged_tail(const PrefillPlan& plan, const LanePlan& lane) {
  return std::min(lane.n_tail_after, plan.n_tokens() - lane.n_new_sinks);
}
// n_slots: of the lane with the most slots to score.
PrefillPlan plan_probe(const CacheView& cache, std::size_t n_tokens, std::size_t first_position,
                       std::size_t n_slots);

// What a document leaves in pages once lanes of several layers have been decided together.
std::size_t decided_bytes(const CacheView& cache, std::size_t first_position, std::size_t n_tokens);

// What a second pass over n_waiting tokens borrows at a time, its scores included; 0: none is
// wanted.
std::size_t probe_bytes(const CacheView& cache, std::size_t n_waiting);

// Bytes that pages of n_tokens in m lanes take at most, however they share them, if each lane has
// n_partial pages of a tier that are not full.
std::size_t ragged_bytes(const CacheView& cache, std::uint8_t tier, const TokenShape& token,
                         std::size_t n_tokens, std::size_t n_lanes, std::size_t n_partial = 1);

}  // namespace satchel::kvcache
