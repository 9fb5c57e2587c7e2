// cache_need(): what a document of so many tokens will take, before there is a cache.
#include <algorithm>

#include "kvcache/reading/reading_plan.h"

namespace satchel::kvcache {
namespace {

CacheNeed need_of(const CacheBook& book, std::size_t n_tokens) {
  CacheNeed need{.fixed_bytes = fixed_bytes(book.shape, book.layouts, book.pipeline)};
  if (n_tokens == 0) return need;
  const ReadingPlan plan = plan_reading(book, {.n_tokens = n_tokens}, kTierEight);
  need.reading_bytes = plan.scratch_bytes + plan.score_bytes;
  need.page_bytes = plan.body_bytes;
  const std::size_t stays = book.wants().decoding ? plan.score_bytes : 0;
  need.page_bytes += stays;
  need.reading_bytes -= stays;
  if (plan.state_after != SpanState::pending) return need;
  const std::size_t waiting = plan.body_bytes + stays;
  need.page_bytes = decided_bytes(book, 0, n_tokens) + stays;
  const std::size_t at_once = std::max(waiting, need.page_bytes) + probe_bytes(book, n_tokens);
  need.reading_bytes = std::max(need.reading_bytes + waiting + plan.settle_bytes, at_once);
  need.reading_bytes -= need.page_bytes;
  return need;
}

// Tails are longest just before a flush; a longer text may then take less.
std::size_t longest_tails(std::size_t n_tokens) {
  const std::size_t beyond = (n_tokens + kFlushTokens - kSinkTokens + 1) % kFlushTokens;
  return n_tokens - std::min(n_tokens, beyond);
}

// Allocators round what layers get: a longer text may take less by a few tokens.
constexpr std::size_t kRoundingTokens = 8;  // chosen; one is what was seen

}  // namespace

// No figure may fall: where a longer text takes less (tails just flushed, a recipe that spares short
// texts), what the shorter one takes counts.
Result<CacheNeed> cache_need(const CacheShape& shape, const Recipe& recipe, std::size_t n_tokens) {
  SATCHEL_TRY(recipe.pipeline().check(shape));
  SATCHEL_TRY_ASSIGN(TierLayouts layouts, TierLayouts::make(shape, recipe.pipeline()));
  const CacheBook book(shape, recipe, std::move(layouts));
  const auto fires = [&](std::size_t n) {
    return recipe.pipeline().fires({.occasion = Occasion::asked, .n_tokens = n});
  };
  std::size_t spared = 0, decided = n_tokens;
  while (fires(n_tokens) && decided - spared > 1) {
    const std::size_t middle = spared + (decided - spared) / 2;
    (fires(middle) ? decided : spared) = middle;
  }
  CacheNeed need = need_of(book, n_tokens);
  std::size_t total = need.total();
  const auto raise = [&](std::size_t n) {
    const CacheNeed shorter = need_of(book, n);
    need.page_bytes = std::max(need.page_bytes, shorter.page_bytes);
    total = std::max(total, shorter.total());
  };
  for (std::size_t n = 1; n <= std::min(kRoundingTokens, n_tokens); ++n) raise(n_tokens - n);
  for (const std::size_t n : {longest_tails(n_tokens), spared, longest_tails(spared)}) raise(n);
  need.reading_bytes = total - need.fixed_bytes - need.page_bytes;
  return need;
}

}  // namespace satchel::kvcache
