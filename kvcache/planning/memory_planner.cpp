#include "kvcache/planning/memory_planner.h"

#include <algorithm>

#include "kvcache/planning/cache_forecast.h"
#include "kvcache/planning/cache_view.h"
#include "kvcache/planning/plan_prefill.h"

namespace satchel::kvcache {
namespace {

CacheNeed need_of(const CacheView& empty, std::size_t n_tokens) {
  CacheNeed need{.fixed_bytes = empty.layout.fixed_bytes()};
  if (n_tokens == 0) return need;
  const PrefillPlan plan = plan_prefill(empty, {.n_tokens = n_tokens}, kTierEight);
  need.prefill_bytes = plan.scratch_bytes + plan.score_bytes;
  need.page_bytes = plan.body_bytes;
  const std::size_t stays = empty.requirements().decoding ? plan.score_bytes : 0;
  need.page_bytes += stays;
  need.prefill_bytes -= stays;
  if (plan.state_after != SegmentState::pending) return need;
  const std::size_t waiting = plan.body_bytes + stays;
  need.page_bytes = decided_bytes(empty, 0, n_tokens) + stays;
  const std::size_t at_once = std::max(waiting, need.page_bytes) + probe_bytes(empty, n_tokens);
  need.prefill_bytes = std::max(need.prefill_bytes + waiting + plan.settle_bytes, at_once);
  need.prefill_bytes -= need.page_bytes;
  return need;
}

// Tails are longest just before a flush; a longer text may then take less.
std::size_t longest_tails(std::size_t n_tokens) {
  const std::size_t beyond = (n_tokens + kFlushTokens - kSinkTokens + 1) % kFlushTokens;
  return n_tokens - std::min(n_tokens, beyond);
}

// Allocators round what layers get: a longer text may take less by a few tokens.
constexpr std::size_t kRoundingTokens = 8;  // chosen; one is what was seen

// The longest text up to n_tokens that the recipe spares: a text one longer is decided.
std::size_t longest_spared(const CacheView& empty, std::size_t n_tokens) {
  const auto fires = [&](std::size_t n) {
    return empty.layout.pipeline.fires(TriggerEvent::asked, n);
  };
  std::size_t spared = 0, decided = n_tokens;
  while (fires(n_tokens) && decided - spared > 1) {
    const std::size_t middle = spared + (decided - spared) / 2;
    (fires(middle) ? decided : spared) = middle;
  }
  return spared;
}

// No figure may fall: where a longer text takes less (tails just flushed, a recipe that spares
// short texts), what the shorter one takes counts.
CacheNeed rising_need(const CacheView& empty, std::size_t n_tokens) {
  CacheNeed need = need_of(empty, n_tokens);
  std::size_t total = need.total();
  const auto raise = [&](std::size_t n) {
    const CacheNeed shorter = need_of(empty, n);
    need.page_bytes = std::max(need.page_bytes, shorter.page_bytes);
    total = std::max(total, shorter.total());
  };
  for (std::size_t n = 1; n <= std::min(kRoundingTokens, n_tokens); ++n) raise(n_tokens - n);
  const std::size_t spared = longest_spared(empty, n_tokens);
  for (const std::size_t n : {longest_tails(n_tokens), spared, longest_tails(spared)}) raise(n);
  need.prefill_bytes = total - need.fixed_bytes - need.page_bytes;
  return need;
}

Result<std::unique_ptr<const CacheLayout>> layout_of(const CacheShape& shape,
                                                     const Recipe& recipe) {
  SATCHEL_TRY(recipe.pipeline().check(shape));
  SATCHEL_TRY_ASSIGN(TierLayouts tiers, TierLayouts::make(shape, recipe.pipeline()));
  return std::make_unique<const CacheLayout>(shape, recipe, std::move(tiers));
}

const TextSegments kNoText;

CacheView empty_view(const CacheLayout& layout) {
  CacheView view{.layout = layout, .text = kNoText};
  view.tails.assign(layout.shape.n_lanes(), {.kept = layout.pipeline.tail()});
  return view;
}

}  // namespace

Result<CacheNeed> cache_need(const CacheShape& shape, const Recipe& recipe, std::size_t n_tokens) {
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<const CacheLayout> layout, layout_of(shape, recipe));
  return rising_need(empty_view(*layout), n_tokens);
}

Result<MemoryPlanner> MemoryPlanner::make(const CacheShape& shape, const Recipe& recipe,
                                          const PassBytes& pass) {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<const CacheLayout> layout, layout_of(shape, recipe));
  return MemoryPlanner(std::move(layout), pass);
}

// No cache opens for less than a page of tokens.
MemoryPlanner::Bound MemoryPlanner::bound(std::size_t n_tokens, std::size_t span_tokens) const {
  n_tokens = std::max(n_tokens, kernels::kPageTokens);
  const std::size_t n_span = std::min(n_tokens, span_tokens);
  const CacheView empty = empty_view(*layout_);
  const CacheNeed need = rising_need(empty, n_tokens);
  const CacheNeed span = n_span == n_tokens ? need : rising_need(empty, n_span);
  return {.cache_bytes = need.fixed_bytes + need.page_bytes,
          .scratch_bytes = span.prefill_bytes + pass_.all(n_span + kProbeScript)};
}

std::size_t MemoryPlanner::expected(std::size_t n_tokens, const Memory& memory) const {
  CacheForecast forecast(*layout_, memory);
  forecast.prefill_text(n_tokens, pass_);
  return forecast.bytes();
}

// The bound never falls as tokens are added, so the last that fits is found by halving.
std::size_t MemoryPlanner::largest_fit(std::size_t bytes, std::size_t n_most,
                                       std::size_t span_tokens) const {
  std::size_t fits = 0, too_many = n_most + 1;
  while (too_many - fits > 1) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    (bound(middle, span_tokens).total() <= bytes ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace satchel::kvcache
