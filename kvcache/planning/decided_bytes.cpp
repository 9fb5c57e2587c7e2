// What pages take once a recipe has decided, however lanes share them.
#include <algorithm>
#include <numeric>

#include "kvcache/planning/plan_prefill.h"

namespace satchel::kvcache {
namespace {

// A lane that was decided: one of what it held in pages, one of what then left its tail.
constexpr std::size_t kPartialPages = 2;

// Where lanes of all layers compete, all that is kept may lie in the layer with the largest heads.
std::size_t ragged_over_all(const CacheView& cache, std::size_t n_tokens, std::size_t n_lanes) {
  std::size_t bytes = 0;
  for (std::size_t layer = 0; layer < cache.layout.shape.n_layers(); ++layer)
    if (cache.layout.takes_part(layer))
      bytes =
          std::max(bytes, ragged_bytes(cache, kTierRecipe, cache.layout.shape.layers[layer].token(),
                                       n_tokens, n_lanes, kPartialPages));
  return bytes;
}

}  // namespace

// Whole pages take their share, and the last page of each lane at most so much more. Each tier of a
// lane has pages of its own.
std::size_t ragged_bytes(const CacheView& cache, std::uint8_t tier, const TokenShape& token,
                         std::size_t n_tokens, std::size_t n_lanes, std::size_t n_partial) {
  if (n_tokens == 0) return 0;
  constexpr std::size_t kFull = kernels::kPageTokens, kStep = kernels::kPageStep;
  const std::size_t full = cache.layout.page_bytes(tier, token, kFull);
  std::size_t beyond = 0;
  for (std::size_t n = 1; n < kFull; n += kStep) {
    const std::size_t share = full * n / kFull, page = cache.layout.page_bytes(tier, token, n);
    beyond = std::max(beyond, page - std::min(page, share));
  }
  const std::size_t n_last =
      std::min(n_lanes * cache.layout.pipeline.n_own_codecs() * n_partial, n_tokens);
  return Arena::rounded_up((n_tokens * full + kFull - 1) / kFull + n_last * beyond);
}

// A lane with a short tail has more in pages than is counted here, but less beside them than it has
// taken: an exact token is never smaller, but for an exact page's positions.
std::size_t decided_bytes(const CacheView& cache, std::size_t first_position,
                          std::size_t n_tokens) {
  TokenSpan span = cache.token_span(first_position, n_tokens);
  span.n_after = 0;
  std::vector<std::size_t> totals(span.n_layers);
  const Allocator& allocator = cache.layout.pipeline.allocator();
  allocator.totals(span, cache.layout.pipeline.n_protected(span), totals);
  const std::size_t n_tail = cache.layout.recipe_is_exact ? cache.layout.pipeline.short_tail()
                                                          : cache.layout.pipeline.tail();
  const std::size_t n_sinks = kSinkTokens - std::min(kSinkTokens, first_position);
  const std::size_t n_exact = std::min(n_tokens, n_sinks + n_tail);
  const auto body = [&](std::size_t total, std::size_t n_lanes) {
    return total - std::min(total, n_exact * n_lanes);
  };
  std::size_t bytes = 0, taking_part = 0;
  const bool over_all = allocator.scope() == Allocator::Scope::cache;
  if (over_all) {
    constexpr std::size_t kNone = 0;
    const std::size_t total = std::accumulate(totals.begin(), totals.end(), kNone);
    bytes += ragged_over_all(cache, body(total, span.n_lanes), span.n_lanes);
  }
  for (std::size_t layer = 0; layer < cache.layout.shape.n_layers(); ++layer) {
    const LayerShape& shape = cache.layout.shape.layers[layer];
    const std::size_t n = shape.n_kv_heads;
    if (!cache.layout.takes_part(layer)) {  // pages go when all of them is behind the window
      const std::size_t held = std::min(n_tokens - n_exact, shape.window + kernels::kPageTokens);
      bytes += n * ragged_bytes(cache, kTierRecipe, shape.token(), held, 1, kPartialPages);
    } else if (!over_all) {
      bytes += ragged_bytes(cache, kTierRecipe, shape.token(), body(totals[taking_part++], n), n,
                            kPartialPages);
    }
  }
  return bytes;
}

}  // namespace satchel::kvcache
