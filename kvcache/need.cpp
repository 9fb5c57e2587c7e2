// cache_need(): what a document of so many tokens will take, before there is a cache.
#include <algorithm>
#include <numeric>

#include "kvcache/reading/reading_plan.h"

namespace satchel::kvcache {
namespace {

// Where lanes of all layers compete, all that is kept may lie in the layer with the largest heads.
std::size_t ragged_over_all(const CacheBook& book, const TokenSpan& span, std::size_t total,
                            std::size_t n_exact) {
  std::size_t bytes = 0;
  const std::size_t n_body = total - std::min(total, n_exact * span.n_lanes);
  for (std::size_t layer = 0; layer < book.shape.n_layers(); ++layer)
    if (book.takes_part(layer))
      bytes = std::max(bytes, ragged_bytes(book, kTierRecipe, book.shape.layers[layer].head_dim,
                                           n_body, span.n_lanes));
  return bytes;
}

// A document that waits for a decision over all layers: what the decision leaves, all lanes together.
std::size_t decided_bytes(const CacheBook& book, std::size_t n_tokens) {
  const TokenSpan span = book.token_span(0, n_tokens);
  std::vector<std::size_t> totals(span.n_layers);
  constexpr std::size_t n_none = 0;
  book.pipeline.allocator().totals(span, book.pipeline.n_protected(span), totals);
  const std::size_t n_tail = std::min(n_tokens, kSinkTokens + book.pipeline.short_tail());
  std::size_t bytes = 0, taking_part = 0;
  const bool over_all = book.pipeline.allocator().scope() == Allocator::Scope::cache;
  if (over_all)
    bytes +=
        ragged_over_all(book, span, std::accumulate(totals.begin(), totals.end(), n_none), n_tail);
  for (std::size_t layer = 0; layer < book.shape.n_layers(); ++layer) {
    const LayerShape& shape = book.shape.layers[layer];
    if (book.takes_part(layer) && over_all) continue;
    if (book.takes_part(layer)) {
      const std::size_t total = totals[taking_part++];
      bytes += ragged_bytes(book, kTierRecipe, shape.head_dim,
                            total - std::min(total, n_tail * shape.n_kv_heads), shape.n_kv_heads);
    } else {
      bytes += shape.n_kv_heads *
               book.body_bytes(kTierRecipe, shape.head_dim, std::min(n_tokens, shape.window));
    }
  }
  return bytes;
}

CacheNeed need_of(const CacheBook& book, std::size_t n_tokens) {
  CacheNeed need{.fixed_bytes = fixed_bytes(book.shape, book.layouts, book.pipeline)};
  if (n_tokens == 0) return need;
  const ReadingPlan plan = plan_reading(book, {.n_tokens = n_tokens}, kTierEight);
  need.reading_bytes = plan.scratch_bytes + plan.score_bytes;
  need.page_bytes = plan.body_bytes;
  if (plan.state_after != SpanState::pending) return need;
  need.page_bytes = std::min(plan.body_bytes, decided_bytes(book, n_tokens));
  need.reading_bytes = std::max(need.reading_bytes, probe_bytes(book, n_tokens));
  need.reading_bytes += plan.body_bytes - need.page_bytes;  // while it waits
  return need;
}

// Tails are longest just before a flush; a longer text may then take less.
std::size_t longest_tails(std::size_t n_tokens) {
  const std::size_t beyond = (n_tokens + kFlushTokens - kSinkTokens + 1) % kFlushTokens;
  return n_tokens - std::min(n_tokens, beyond);
}

}  // namespace

// No figure may fall: where a longer text takes less (tails just flushed, a recipe that spares short
// texts), what the shorter one takes counts.
Result<CacheNeed> cache_need(const CacheShape& shape, const Recipe& recipe, std::size_t n_tokens) {
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
  for (const std::size_t n : {longest_tails(n_tokens), spared, longest_tails(spared)}) {
    const CacheNeed shorter = need_of(book, n);
    need.page_bytes = std::max(need.page_bytes, shorter.page_bytes);
    need.reading_bytes = std::max(need.reading_bytes, shorter.reading_bytes);
  }
  return need;
}

}  // namespace satchel::kvcache
