#include "runtime/governor/estimator.h"

#include <algorithm>
#include <string>

#include "kvcache/stages/pipeline.h"
#include "runtime/model/scratch.h"
#include "runtime/reading/read_text.h"

namespace satchel::runtime {
namespace {

struct PoolNeed {
  std::size_t cache_bytes = 0, scratch_bytes = 0;
  std::size_t total() const { return cache_bytes + scratch_bytes; }
};

// A longer text is read in spans: so many tokens at once are comfortable. Chosen: a span this long
// hides what its ends cost.
constexpr std::size_t kSpanTokens = 1024;
// Where nothing is left to be had they get shorter; read_text() goes on down to half of this.
constexpr std::size_t kShortSpanTokens = 128;

// A cache that holds n_tokens and can read them; no cache opens for less than a page of them.
Result<PoolNeed> pool_need(const ModelConfig& config, const kvcache::Recipe& recipe,
                           std::size_t n_tokens, std::size_t span_tokens = kSpanTokens) {
  n_tokens = std::max(n_tokens, kernels::kPageTokens);
  SATCHEL_TRY_ASSIGN(const kvcache::CacheNeed need,
                     kvcache::cache_need(config.cache_shape(), recipe, n_tokens));
  const std::size_t n_span = std::min(n_tokens, span_tokens);
  SATCHEL_TRY_ASSIGN(const kvcache::CacheNeed span,
                     kvcache::cache_need(config.cache_shape(), recipe, n_span));
  const bool keeps_pre_rope = recipe.pipeline().wants(config.lane_shares.get()).pre_rope;
  return PoolNeed{
      .cache_bytes = need.fixed_bytes + need.page_bytes,
      .scratch_bytes = span.reading_bytes +
                       reading_bytes(config, n_span + kvcache::kProbeScript, keeps_pre_rope)};
}

// The need never falls as tokens are added, so the last that fits is found by halving.
Result<std::size_t> tokens_that_fit(const ModelConfig& config, const kvcache::Recipe& recipe,
                                    std::size_t budget_bytes,
                                    std::size_t span_tokens = kSpanTokens) {
  std::size_t fits = 0, too_many = config.context + 1;
  while (too_many - fits > 1) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    SATCHEL_TRY_ASSIGN(const PoolNeed need, pool_need(config, recipe, middle, span_tokens));
    (need.total() <= budget_bytes ? fits : too_many) = middle;
  }
  return fits;
}

Result<void> find_tokens_that_fit(const ModelConfig& config, const kvcache::Recipe& recipe,
                                  Estimate& out) {
  SATCHEL_TRY_ASSIGN(out.n_tokens_fit, tokens_that_fit(config, recipe, out.budget_bytes));
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe floor, recipe.at_floor());
  SATCHEL_TRY_ASSIGN(out.n_tokens_most,
                     tokens_that_fit(config, floor, out.budget_bytes, kShortSpanTokens));
  out.n_tokens_most = std::max(out.n_tokens_most, out.n_tokens_fit);
  return {};
}

// What the cache will hold, as far as that can be known before the text is, in memory that can hold it.
Result<std::size_t> expected_bytes(const ModelConfig& config, const kvcache::Recipe& recipe,
                                   std::size_t n_tokens, std::size_t budget_bytes) {
  SATCHEL_TRY_ASSIGN(
      kvcache::CacheForecast forecast,
      kvcache::CacheForecast::make(config.cache_shape(), recipe,
                                   {.arena_bytes = kvcache::Arena::rounded_down(budget_bytes),
                                    .others_bytes = kept_bytes(config, n_tokens)}));
  forecast_text(config, n_tokens, forecast);
  return forecast.bytes();
}

}  // namespace

Result<Estimate> estimate(const ModelConfig& config, std::size_t weight_bytes,
                          const kvcache::Recipe& recipe, const EstimateRequest& request) {
  const std::size_t n_tokens = request.n_tokens == 0 ? config.context : request.n_tokens;
  if (n_tokens > config.context)
    return Error{ErrorKind::invalid, "PARAM",
                 "tokens must be at most the model's context of " + std::to_string(config.context) +
                     ", is " + std::to_string(n_tokens) + "."};
  const kernels::CacheRoom room = request.room ? *request.room : kernels::main_memory_room();
  Estimate out;
  out.budget_bytes = request.budget_bytes;
  if (out.budget_bytes == 0) {
    SATCHEL_TRY_ASSIGN(out.budget_bytes, default_budget(config, room));
  }
  SATCHEL_TRY_ASSIGN(const PoolNeed need, pool_need(config, recipe, n_tokens));
  out.weight_bytes = weight_bytes;
  out.cache_bytes = need.cache_bytes;
  if (request.asks.expected_bytes) {
    SATCHEL_TRY_ASSIGN(
        out.expected_bytes,
        expected_bytes(config, recipe, n_tokens, std::max(out.budget_bytes, need.total())));
    // Pages that one span begins the next does not fill, which the bound of one span does not know.
    out.cache_bytes = std::max(out.cache_bytes, out.expected_bytes);
  }
  out.scratch_bytes = need.scratch_bytes;
  out.pool_bytes = out.cache_bytes + out.scratch_bytes;
  out.fp16_bytes = n_tokens * config.cache_shape().fp16_bytes_per_token();
  if (request.asks.tokens_that_fit) SATCHEL_TRY(find_tokens_that_fit(config, recipe, out));
  out.room_bytes = room.most;
  out.fits = out.pool_bytes <= out.budget_bytes && out.pool_bytes <= out.room_bytes &&
             weight_bytes <= out.room_bytes - out.pool_bytes;
  return out;
}

Result<std::size_t> least_budget(const ModelConfig& config, const kvcache::Recipe& recipe) {
  SATCHEL_TRY_ASSIGN(const PoolNeed least,
                     pool_need(config, recipe, std::min(kLeastTokens, config.context)));
  return least.total();
}

Result<std::size_t> default_budget(const ModelConfig& config, const kernels::CacheRoom& room) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  SATCHEL_TRY_ASSIGN(const PoolNeed need, pool_need(config, full, config.context));
  return std::min(need.total(), room.usually);
}

}  // namespace satchel::runtime
