#include "runtime/replay/attention_paid.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kvcache/cache/attention_shares.h"
#include "runtime/fidelity/fidelity.h"

namespace satchel::runtime {
namespace {

// Chosen: as many tokens as a measurement looks at.
constexpr std::size_t kQueries = kFidelityTokens / kFidelityStride;
constexpr std::size_t kStretches = 4;  // of a long text; each has so many queries as well

std::vector<IndexRange> stretches_of(const IndexRange& text) {
  const std::size_t n = text.size();
  if (n == 0) return {};
  const bool is_long = n > kFidelityTokens;
  const std::size_t n_stretches = is_long ? kStretches : std::min(n, kQueries);
  const std::size_t n_tokens = is_long ? kFidelityTokens / kStretches : 1;
  std::vector<IndexRange> stretches;
  for (std::size_t i = 1; i <= n_stretches; ++i) {
    const std::size_t end = text.begin + i * n / n_stretches;
    stretches.push_back({.begin = end - n_tokens, .end = end});
  }
  return stretches;
}

// A run of the text's tokens, and what their queries give to all the cache holds.
class PaidRun {
 public:
  PaidRun(Model& model, kvcache::Cache& cache, std::span<const std::int32_t> tokens,
          const std::stop_token& stop)
      : model_(model), cache_(cache), tokens_(tokens), stop_(stop) {}

  Result<void> add(const IndexRange& stretch, AttentionPaid& paid) {
    const ModelConfig& config = model_.config();
    SATCHEL_TRY_ASSIGN(
        const kvcache::Arena::Lease lease,
        cache_.arena().take_scratch(AttentionSamples::bytes(config, stretch.size())));
    const AttentionSamples samples(config, stretch.size(), lease.data());
    SATCHEL_TRY(model_.replay({.cache = cache_,
                               .ids = tokens_.subspan(stretch.begin, stretch.size()),
                               .first = stretch.begin,
                               .before = tokens_.first(stretch.begin),
                               .stop = stop_,
                               .samples = samples}));
    std::vector<std::int32_t> positions;
    for (std::size_t i = 0; i < samples.n(); ++i)
      positions.push_back(static_cast<std::int32_t>(stretch.begin + samples.token(i)));
    paid.n_queries += positions.size();
    return add_layers(samples, positions, paid.shares);
  }
  std::size_t n_layers() const { return n_layers_; }  // that were added, of the last run

 private:
  Result<void> add_layers(const AttentionSamples& samples, std::span<const std::int32_t> positions,
                          std::span<float> shares) {
    const ModelConfig& config = model_.config();
    const std::size_t work_at = kvcache::Arena::rounded_up(positions.size_bytes());
    SATCHEL_TRY_ASSIGN(
        const kvcache::Arena::Lease lease,
        cache_.arena().take_scratch(work_at + kvcache::attention_work_bytes(cache_)));
    SATCHEL_TRY(cache_.refresh_lanes());
    SATCHEL_TRY(model_.backend().upload(lease.data(), std::as_bytes(positions)));
    n_layers_ = 0;
    for (std::size_t layer = 0; layer < config.n_layers(); ++layer) {
      if (config.layers[layer].is_recurrent()) continue;
      if (stop_.stop_requested()) return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
      const std::size_t of_cache = config.cache_layer(layer);
      SATCHEL_TRY(cache_.fetch_lanes(of_cache));
      SATCHEL_TRY_ASSIGN(
          const bool is_shown,
          kvcache::add_attention(cache_, of_cache,
                                 {.q = samples.queries(layer),
                                  .lse = samples.lse(layer),
                                  .positions = reinterpret_cast<const std::int32_t*>(lease.data()),
                                  .positions_here = positions},
                                 lease.data() + work_at, shares));
      if (is_shown) ++n_layers_;
    }
    return {};
  }

  Model& model_;
  kvcache::Cache& cache_;
  std::span<const std::int32_t> tokens_;
  const std::stop_token& stop_;
  std::size_t n_layers_ = 0;
};

}  // namespace

Result<AttentionPaid> attention_paid(Model& model, kvcache::Cache& cache,
                                     std::span<const std::int32_t> tokens, const IndexRange& text,
                                     const std::stop_token& stop) {
  SATCHEL_ASSERT(text.begin <= text.end && cache.n_tokens() <= tokens.size());
  AttentionPaid paid{.shares = std::vector<float>(cache.n_tokens())};
  const IndexRange seen{.begin = std::min(text.begin, cache.n_tokens()),
                        .end = std::min(text.end, cache.n_tokens())};
  PaidRun run(model, cache, tokens, stop);
  for (const IndexRange& stretch : stretches_of(seen)) SATCHEL_TRY(run.add(stretch, paid));
  const auto n = static_cast<float>(paid.n_queries * run.n_layers());
  for (float& share : paid.shares)
    if (n > 0) share /= n;
  return paid;
}

}  // namespace satchel::runtime
