#include "app/eval/lane_rules/seen_layer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/engine_state.h"
#include "runtime/model/scratch.h"

namespace satchel::eval {
namespace {

bool takes_part(const runtime::LayerConfig& layer) {
  return layer.attention.window == 0 && layer.has_lanes();
}

// Collects the chunks of a layer; when its last one is there, shows it.
class Collector final : public runtime::PrefillWatch {
 public:
  Collector(runtime::Engine& engine, std::size_t n_tokens, const SeeLayer& see, SeenLayers which)
      : engine_(engine), n_tokens_(n_tokens), see_(see), which_(which) {}

  Result<void> see(const runtime::LayerStep& step) override {
    const runtime::LayerConfig& layer = engine_.config().layers[step.layer];
    if (which_ == SeenLayers::without_window && !takes_part(layer)) return {};
    if (!seen_)
      seen_.emplace(SeenLayer{
          .shape = layer.attention, .first_head = first_head_, .first_lane = first_lane_});
    SeenLayer& now = *seen_;
    const std::size_t n = step.batch.n_tokens;
    SATCHEL_TRY(append(now.q, step.work.q, n * layer.q_width()));
    SATCHEL_TRY(append(now.k, step.work.k, n * layer.kv_width()));
    if (!layer.attention.is_latent) SATCHEL_TRY(append(now.v, step.work.v, n * layer.kv_width()));
    SATCHEL_TRY(append(now.pre_rope_q, step.work.pre_rope_q, n * layer.q_width()));
    SATCHEL_TRY(append(now.pre_rope_k, step.work.pre_rope_k, n * layer.kv_width()));
    SATCHEL_TRY(append(now.lse, step.work.lse, n * layer.attention.n_heads));
    now.n_tokens += n;
    if (now.n_tokens < n_tokens_) return {};
    see_(now);
    first_head_ += layer.attention.n_heads;
    first_lane_ += layer.attention.n_kv_heads;
    seen_.reset();
    return {};
  }

 private:
  Result<void> append(std::vector<float>& to, const float* from, std::size_t n) {
    return append_rows(engine_.model().backend(), to, from, n);
  }

  runtime::Engine& engine_;
  std::size_t n_tokens_;
  const SeeLayer& see_;
  SeenLayers which_;
  std::size_t first_head_ = 0, first_lane_ = 0;
  std::optional<SeenLayer> seen_;  // while a layer's chunks come
};

// A cache for n_tokens that forgets nothing, and room to read them at once and be watched.
Result<std::unique_ptr<kvcache::Cache>> open_exact(runtime::Engine& engine, std::size_t n_tokens) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  n_tokens = std::max(n_tokens, kernels::kPageTokens);  // no cache opens for less than a page
  const kvcache::CacheShape shape = engine.config().cache_shape();
  SATCHEL_TRY_ASSIGN(const kvcache::CacheNeed need, kvcache::cache_need(shape, full, n_tokens));
  const std::size_t bytes = need.total() + prefill_lease_bytes(engine.config(), n_tokens, true);
  const auto& backend = engine.state().backend;
  SATCHEL_TRY_ASSIGN(auto arena, kvcache::Arena::open(backend, bytes));
  return kvcache::Cache::open(std::move(arena), shape, full);
}

}  // namespace

double SeenLayer::logit(std::size_t head, std::size_t from, std::size_t to) const {
  const std::size_t dim = shape.head_dim;
  const float* a = q.data() + (from * shape.n_heads + head) * dim;
  const float* b = k.data() + (to * shape.n_kv_heads + head / shape.n_group()) * dim;
  double dot = 0;
  for (std::size_t i = 0; i < dim; ++i) dot += double(a[i]) * double(b[i]);
  const double z = dot * double(shape.attention_scale), cap = shape.soft_cap;
  return cap > 0 ? cap * std::tanh(z / cap) : z;
}

double SeenLayer::attention(std::size_t head, std::size_t from, std::size_t to) const {
  return std::exp(logit(head, from, to) - double(lse[from * shape.n_heads + head]));
}

Result<void> read_seen(const LaneSearch& search, std::span<const std::int32_t> ids,
                       std::size_t part, std::size_t n_parts, const SeeLayer& see,
                       SeenLayers which) {
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> cache,
                     open_exact(search.engine, ids.size()));
  Collector collector(search.engine, ids.size(), see, which);
  const runtime::ProgressFn progress = [&](const runtime::Progress& now) {
    search.tell(part, n_parts, static_cast<double>(now.done) / static_cast<double>(now.total));
  };
  SATCHEL_TRY(search.engine.model().read_prompt({.cache = *cache,
                                                 .ids = ids,
                                                 .stop = search.stop,
                                                 .progress = progress,
                                                 .watch = &collector}));
  return {};
}

Result<void> append_rows(kernels::Backend& backend, std::vector<float>& to, const float* from,
                         std::size_t n) {
  const std::size_t at = to.size();
  to.resize(at + n);
  return backend.download(std::as_writable_bytes(std::span(to).subspan(at)),
                          reinterpret_cast<const std::byte*>(from));
}

std::size_t n_heads_of(const runtime::ModelConfig& config) {
  std::size_t n = 0;
  for (const runtime::LayerConfig& layer : config.layers)
    n += takes_part(layer) ? layer.attention.n_heads : 0;
  return n;
}

std::vector<double> largest_of_heads(const runtime::ModelConfig& config,
                                     std::span<const double> heads) {
  std::vector<double> lanes;
  for (const runtime::LayerConfig& layer : config.layers) {
    if (!takes_part(layer)) continue;
    const std::size_t n_group = layer.attention.n_group();
    for (std::size_t lane = 0; lane < layer.attention.n_kv_heads; ++lane) {
      lanes.push_back(*std::max_element(heads.begin(), heads.begin() + std::ptrdiff_t(n_group)));
      heads = heads.subspan(n_group);
    }
  }
  return lanes;
}

}  // namespace satchel::eval
