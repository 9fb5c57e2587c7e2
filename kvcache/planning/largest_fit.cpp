// How much of a request can be prefilled next.
#include <algorithm>
#include <utility>

#include "kvcache/planning/plan_prefill.h"

namespace satchel::kvcache {
namespace {

PrefillRequest part_of(PrefillRequest request, std::size_t n_tokens, std::uint8_t finest) {
  request.n_tokens = n_tokens;
  request.finest = finest;
  return request;
}

// Afterwards a second pass must find memory, or what is pending could never be decided.
std::size_t needs(const CacheView& cache, const PrefillPlan& plan, const PassBytes& pass) {
  std::size_t n_pending = 0;
  for (const TextSegment& segment : cache.text.segments)
    if (segment.state == SegmentState::pending) n_pending += segment.n_tokens - segment.n_probed;
  if (plan.state_after != SegmentState::done) n_pending += plan.n_tokens();
  const std::size_t probe = probe_bytes(cache, n_pending);
  const std::size_t n_probe = std::min(n_pending, kProbeTokens) + kProbeScript;
  const std::size_t now = plan.scratch_bytes + plan.score_bytes + pass.all(plan.n_tokens());
  const std::size_t later = probe == 0 ? 0 : probe + pass.all(n_probe);
  return plan.body_bytes + plan.settle_bytes + std::max(now, later);
}

// What commit() decides had better not be held as coarse as it will be: then what goes leaves holes
// in pages that stay.
std::uint8_t coarsest(const CacheView& cache, const PrefillRequest& request, const PassBytes& pass,
                      std::size_t free_bytes) {
  const bool decided_soon = request.kind == SegmentKind::document && !cache.decides_in_layer() &&
                            cache.layout.pipeline.decides_when_read() &&
                            !cache.layout.recipe_is_exact;
  if (!decided_soon) return kTierRecipe;
  const std::size_t n_least = std::min(request.n_tokens, kFlushTokens);
  const PrefillRequest least = part_of(request, n_least, kTierEight);
  return prefill_needs(cache, least, pass) <= free_bytes ? kTierEight : kTierRecipe;
}

}  // namespace

std::size_t prefill_needs(const CacheView& cache, const PrefillRequest& request,
                          const PassBytes& pass) {
  return needs(cache, plan_prefill(cache, request, request.finest), pass);
}

PrefillPlan largest_fit(const CacheView& cache, const PrefillRequest& request,
                        const PassBytes& pass, std::size_t free_bytes) {
  PrefillPlan plan;
  const auto fits = [&](std::size_t n_tokens, std::uint8_t finest) {
    PrefillPlan tried = plan_prefill(cache, part_of(request, n_tokens, finest), finest);
    if (needs(cache, tried, pass) > free_bytes) return false;
    plan = std::move(tried);
    return true;
  };
  const std::uint8_t coarsest_tier = coarsest(cache, request, pass, free_bytes);
  for (std::uint8_t finest = request.finest; finest <= coarsest_tier; ++finest)
    if (fits(request.n_tokens, finest)) return plan;
  // It goes in several spans: what is pending is held coarsely, so that spans are long.
  std::size_t n_fit = 0;
  for (std::size_t too_many = request.n_tokens; too_many - n_fit > 1;) {
    const std::size_t middle = n_fit + (too_many - n_fit) / 2;
    (fits(middle, coarsest_tier) ? n_fit : too_many) = middle;
  }
  plan.request = part_of(request, n_fit, coarsest_tier);
  if (n_fit == 0) return plan;
  for (std::uint8_t finest = request.finest; finest < coarsest_tier; ++finest)
    if (fits(n_fit, finest)) break;
  return plan;
}

}  // namespace satchel::kvcache
