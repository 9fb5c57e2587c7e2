// How much of a text can be read at once into what is free.
#include "kvcache/reading/reading_plan.h"

namespace satchel::kvcache {

// What must wait is as fine as asked where that fits, else 8 bits, else as the recipe will have it.
ReadingPlan plan_that_fits(const CacheBook& cache, const ReadRequest& request,
                           std::size_t free_bytes) {
  ReadingPlan plan;
  for (std::uint8_t finest = request.finest; finest <= kTierRecipe; ++finest) {
    plan = plan_reading(cache, request, finest);
    if (plan.needed_bytes() <= free_bytes) break;
  }
  return plan;
}

// Afterwards there must be room for the second pass, or what waits could never be packed.
std::size_t reading_needs(const CacheBook& cache, const ReadRequest& request,
                          Cache::OtherBytes other_bytes, const void* context) {
  std::size_t n_wait = 0;
  for (const TextSpan& span : cache.spans)
    if (span.state == SpanState::pending) n_wait += span.n_tokens - span.n_probed;
  const ReadingPlan plan = plan_reading(cache, request, request.finest);
  if (plan.state_after != SpanState::done) n_wait += request.n_tokens;
  const std::size_t probe = probe_bytes(cache, n_wait);
  const std::size_t n_probe = std::min(n_wait, kProbeTokens) + kProbeScript;
  const std::size_t now =
      plan.scratch_bytes + plan.score_bytes + other_bytes(context, request.n_tokens);
  const std::size_t later = probe == 0 ? 0 : probe + other_bytes(context, n_probe);
  return plan.body_bytes + plan.settle_bytes + std::max(now, later);
}

ReadRequest reading_fits(const CacheBook& cache, std::size_t free_bytes, const ReadRequest& request,
                         Cache::OtherBytes other_bytes, const void* context) {
  const auto fits = [&](std::size_t n, std::uint8_t finest) {
    ReadRequest part = request;
    part.n_tokens = n;
    part.finest = finest;
    return reading_needs(cache, part, other_bytes, context) <= free_bytes;
  };
  ReadRequest fitting = request;
  // What commit() decides had better not wait as coarse as it will be: then what goes leaves holes in
  // pages that stay.
  const bool decided_soon = request.kind == SpanKind::document && !cache.decides_in_layer() &&
                            cache.pipeline.decides_when_read() && !cache.recipe_is_exact &&
                            fits(std::min(request.n_tokens, kFlushTokens), kTierEight);
  const std::uint8_t coarsest = decided_soon ? kTierEight : kTierRecipe;
  for (fitting.finest = request.finest; fitting.finest <= coarsest; ++fitting.finest)
    if (fits(request.n_tokens, fitting.finest)) return fitting;
  // It goes in several spans: what waits does so coarsely, so that spans are long.
  fitting.finest = coarsest;
  fitting.n_tokens = 0;
  for (std::size_t too_many = request.n_tokens; too_many - fitting.n_tokens > 1;) {
    const std::size_t middle = fitting.n_tokens + (too_many - fitting.n_tokens) / 2;
    (fits(middle, coarsest) ? fitting.n_tokens : too_many) = middle;
  }
  if (fitting.n_tokens == 0) return fitting;
  fitting.finest = request.finest;
  while (fitting.finest < coarsest && !fits(fitting.n_tokens, fitting.finest)) ++fitting.finest;
  return fitting;
}

std::size_t Cache::reading_needs(const ReadRequest& request, OtherBytes other_bytes,
                                 const void* context) const {
  return kvcache::reading_needs(*state_, request, other_bytes, context);
}

ReadRequest Cache::reading_fits(const ReadRequest& request, OtherBytes other_bytes,
                                const void* context) const {
  return kvcache::reading_fits(*state_, state_->arena.free_bytes(), request, other_bytes, context);
}

}  // namespace satchel::kvcache
