#include "runtime/model/model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace satchel::runtime {
namespace {

using Project = Graph::Project;
using Lse = Graph::Lse;

// first, first + 1, …
std::vector<std::int32_t> positions_from(std::size_t first, std::size_t n) {
  std::vector<std::int32_t> positions(n);
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(first));
  return positions;
}

using Seen = kvcache::Prefill::Seen;

Seen seen_of(const LayerStep& step, const float* x) {
  return {.q = step.work.q,
          .lse = step.work.lse,
          .pre_rope_q = step.work.pre_rope_q,
          .pre_rope_k = step.work.pre_rope_k,
          .hidden = x};
}

// A GPU that cannot take them makes way for the CPU, where the caller lets it.
Result<void> check_heads(const kernels::Backend& backend, const ModelConfig& config) {
  for (const LayerConfig& layer : config.layers) {
    if (layer.attention.is_latent && !backend.takes_latent_lanes())
      return Error{ErrorKind::unsupported, "GPU_HEADS",
                   "The model has latent attention, which the kernels of " +
                       std::string(backend.name()) + " do not know. Use the CPU (--backend cpu)."};
    if (layer.attention.head_dim > backend.head_dim_max())
      return Error{ErrorKind::unsupported, "GPU_HEADS",
                   "The model has heads of " + std::to_string(layer.attention.head_dim) +
                       " values, but the kernels of " + std::string(backend.name()) +
                       " take at most " + std::to_string(backend.head_dim_max()) +
                       ". Use the CPU (--backend cpu)."};
  }
  return {};
}

bool needs_queries(const kvcache::ScorerRequirements& wants) {
  return wants.prefill || wants.decoding || wants.probe;
}

bool is_observed(const kvcache::Cache& cache) {
  return cache.needs_step() || cache.chooses_draft_pages();
}

}  // namespace

class Model::NeededBytes {
 public:
  NeededBytes(std::size_t& place, std::size_t bytes) : place_(place) { place_ = bytes; }
  ~NeededBytes() { place_ = 0; }
  NeededBytes(NeededBytes&&) = delete;

 private:
  std::size_t& place_;
};

struct Model::Run {
  std::span<const std::int32_t> ids, positions;
  const PassScratch& scratch;
  const std::stop_token& stop;
  const ProgressFn& progress;
  std::size_t n_seen = 0;                      // tokens seen before them
  kvcache::RecurrentStates* states = nullptr;  // null: a pass of several caches
  PrefillWatch* watch = nullptr;
  AttentionSamples samples = {};
  // Of the last tokens, those whose state behind all layers is asked for.
  std::size_t n_wanted = SIZE_MAX;
  // What work.rotation holds: the rotation of this layer's RoPE for the chunk at this place.
  struct {
    std::size_t layer, at;
    bool is_made;
  } rotation = {};

  float* x(std::size_t at, std::size_t width) const { return scratch.hidden() + at * width; }
  // Of the run's tokens the first that this step takes.
  std::size_t first_of(const LayerStep& step) const {
    return static_cast<std::size_t>(step.batch.positions - scratch.positions());
  }
  // Whether anybody asks for the state of these tokens behind this layer: behind the last one that
  // makes keys and values, where one of them is wanted.
  bool goes_on_behind(const LayerStep& step, std::size_t n_reading_layers) const {
    const std::size_t n_behind = ids.size() - first_of(step) - step.batch.n_tokens;
    return step.layer + 1 < n_reading_layers || n_behind < n_wanted;
  }
  bool samples_in(const LayerStep& step) const {
    return samples.n() > 0 && samples.token(samples.n() - 1) >= first_of(step) &&
           samples.token(0) < first_of(step) + step.batch.n_tokens;
  }
};

Result<std::unique_ptr<Model>> Model::load(kernels::Backend& backend, const GgufFile& file,
                                           ModelConfig config, const LoadOptions& options) {
  SATCHEL_TRY(check_heads(backend, config));
  if (config.work_limits.n_tokens == 0) config.work_limits = backend.work_limits();
  std::unique_ptr<Model> model(new Model(backend, std::move(config)));
  const Architecture* architecture = find_architecture(model->config_.architecture);
  SATCHEL_ASSERT(architecture != nullptr);
  model->graph_ = architecture->graph(backend, model->config_);
  const std::vector<TensorSpec> specs = model->graph_->tensors();
  SATCHEL_TRY_ASSIGN(model->weights_, Weights::load(backend, file, specs, options));
  return model;
}

Result<void> Model::enter(const Run& run) {
  SATCHEL_TRY(backend_.upload(reinterpret_cast<std::byte*>(run.scratch.positions()),
                              std::as_bytes(run.positions)));
  return graph_->embed(run.ids, run.scratch.hidden());
}

Result<LayerStep> Model::step_of(Run& run, std::size_t layer, std::size_t at, std::size_t n) {
  const auto now = run.positions.subspan(at, n);
  const auto [least, most] = std::minmax_element(now.begin(), now.end());
  const Workspace& work = run.scratch.work();
  const LayerStep step{.layer = layer,
                       .batch = {.positions = run.scratch.positions() + at,
                                 .n_tokens = n,
                                 .position_min = *least,
                                 .position_max = *most},
                       .ids = run.ids.subspan(at, n),
                       .rotation = work.rotation,
                       .work = work,
                       .stop = run.stop};
  const kvcache::LayerShape& shape = config_.layers[layer].attention;
  if (shape.n_rotated() == 0) return step;
  const bool stands =
      run.rotation.is_made && run.rotation.at == at &&
      config_.layers[run.rotation.layer].attention.inverse_frequency == shape.inverse_frequency;
  if (!stands) SATCHEL_TRY(backend_.make_rotation(step.batch, shape.rope(), work.rotation));
  run.rotation = {.layer = layer, .at = at, .is_made = true};
  return step;
}

Result<void> Model::project(const LayerStep& step, Project what, bool keeps_pre_rope,
                            const float* x) {
  SATCHEL_TRY(graph_->project(step, what, x));
  if (keeps_pre_rope) {
    const LayerConfig& layer = config_.layers[step.layer];
    const std::size_t n = step.batch.n_tokens;
    SATCHEL_TRY(copy(step.work.pre_rope_q, step.work.q, n * layer.q_width()));
    SATCHEL_TRY(copy(step.work.pre_rope_k, step.work.k, n * layer.kv_width()));
  }
  return graph_->rotate(step, what);
}

Result<void> Model::copy(float* to, const float* from, std::size_t n) {
  return backend_.copy(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
                       n * sizeof(float));
}

Result<void> Model::synchronise() {
  SATCHEL_TRY(backend_.finish());
  return {};
}

Result<kvcache::CompactionReport> Model::read_prompt(const PromptPass& pass) {
  const std::size_t n = pass.ids.size(), n_before = pass.cache.n_tokens();
  SATCHEL_ASSERT(n > 0);
  const bool keeps_pre_rope = pass.cache.needs_pre_rope() || pass.watch != nullptr;
  const std::size_t n_seen = pass.cache.n_seen();
  SATCHEL_TRY_ASSIGN(const PassScratch scratch,
                     PassScratch::take(pass.cache.arena(), config_,
                                       prefill_size(config_, n_seen, n, keeps_pre_rope)));
  kvcache::PrefillRequest request = pass.request;
  request.n_tokens = n;
  SATCHEL_TRY_ASSIGN(kvcache::Prefill prefill, pass.plan != nullptr
                                                   ? pass.cache.begin_prefill(*pass.plan)
                                                   : pass.cache.begin_prefill(request));
  prefill.tell_ids(pass.ids);
  const std::vector<std::int32_t> positions = positions_from(n_before, n);
  Run run{.ids = pass.ids,
          .positions = positions,
          .scratch = scratch,
          .stop = pass.stop,
          .progress = pass.progress,
          .n_seen = n_seen,
          .states = &pass.cache.states(),
          .watch = pass.watch,
          .samples = pass.samples,
          .n_wanted = pass.last_rows != nullptr || pass.samples.n() > 0
                          ? fidelity_rows(n)
                          : (pass.logits.empty() ? 0u : 1u)};
  {
    const NeededBytes needed(needed_bytes_, pass.needed_bytes);
    SATCHEL_TRY(read_layers(run, prefill));
  }
  if (pass.last_rows != nullptr) {
    const std::size_t n_rows = fidelity_rows(n);
    SATCHEL_TRY(graph_->final_norm(run.x(n - n_rows, config_.width), n_rows, pass.last_rows));
  }
  SATCHEL_TRY(last_logits(run, pass.logits));
  return prefill.commit();
}

Result<void> Model::probe(const ProbePass& pass) {
  const std::size_t n = pass.ids.size();
  SATCHEL_ASSERT(n > 0);
  const std::size_t n_seen = pass.first_position - pass.cache.n_tokens() + pass.cache.n_seen();
  SATCHEL_TRY_ASSIGN(
      const PassScratch scratch,
      PassScratch::take(pass.cache.arena(), config_,
                        prefill_size(config_, n_seen, n, pass.cache.needs_pre_rope())));
  SATCHEL_TRY_ASSIGN(kvcache::Prefill prefill,
                     pass.cache.begin_probe(pass.job, n, pass.first_position));
  const ProgressFn silent;
  const std::vector<std::int32_t> positions = positions_from(pass.first_position, n);
  Run run{.ids = pass.ids,
          .positions = positions,
          .scratch = scratch,
          .stop = pass.stop,
          .progress = silent,
          .n_seen = n_seen,
          .states = &pass.cache.states(),
          .n_wanted = 0};
  SATCHEL_TRY(read_layers(run, prefill));
  SATCHEL_TRY(prefill.commit());
  return {};
}

Result<void> Model::read_layers(Run& run, kvcache::Prefill& prefill) {
  SATCHEL_TRY(enter(run));
  for (std::size_t layer = 0; layer < config_.n_layers(); ++layer)
    SATCHEL_TRY(read_layer(run, layer, prefill));
  return {};
}

Result<void> Model::read_layer(Run& run, std::size_t layer, kvcache::Prefill& prefill) {
  if (config_.layers[layer].is_recurrent()) return carry_layer(run, layer);
  const std::size_t n = run.ids.size();
  const bool has_lanes = config_.layers[layer].has_lanes();
  if (has_lanes) SATCHEL_TRY(prefill.begin_layer(config_.cache_layer(layer)));
  std::size_t n_now = 0;
  for (std::size_t at = 0; at < n; at += n_now) {
    n_now = std::min(chunk_tokens(config_, run.n_seen + at), n - at);
    SATCHEL_TRY_ASSIGN(const LayerStep step, step_of(run, layer, at, n_now));
    float* x = run.x(at, config_.width);
    SATCHEL_TRY(has_lanes ? read_chunk(run, step, x, prefill)
                          : read_shared_chunk(run, step, x, prefill));
    SATCHEL_TRY(done_with(run, step));
  }
  return has_lanes ? prefill.end_layer() : Result<void>{};
}

Result<void> Model::done_with(const Run& run, const LayerStep& step) {
  SATCHEL_TRY(synchronise());
  const std::size_t n = run.ids.size();
  if (run.progress)
    run.progress({Phase::read_prompt, step.layer * n + run.first_of(step) + step.batch.n_tokens,
                  config_.n_layers() * n});
  return {};
}

// All tokens of a pass through a recurrent layer; chunks end where checkpoints stand.
Result<void> Model::carry_layer(Run& run, std::size_t layer) {
  kvcache::RecurrentStates& states = *run.states;
  const std::size_t n = run.ids.size(), which = config_.state_layer(layer);
  std::size_t n_now = 0;
  for (std::size_t at = 0; at < n; at += n_now) {
    n_now =
        std::min({chunk_tokens(config_, run.n_seen + at), n - at, states.n_to_checkpoint(which)});
    SATCHEL_TRY_ASSIGN(const LayerStep step, step_of(run, layer, at, n_now));
    const kernels::StateSequence carried = states.carry(which, n_now);
    SATCHEL_TRY(graph_->recur(step, {&carried, 1}, run.x(at, config_.width)));
    SATCHEL_TRY(states.keep(which));
    SATCHEL_TRY(done_with(run, step));
  }
  return {};
}

Result<void> Model::read_chunk(const Run& run, const LayerStep& step, float* x,
                               kvcache::Prefill& prefill) {
  const kvcache::ScorerRequirements wants = prefill.requirements();
  const bool is_watched = run.watch != nullptr;
  SATCHEL_TRY(project(step, Project::queries_keys_values, wants.pre_rope || is_watched, x));
  SATCHEL_TRY(prefill.add_chunk(step.work.k, step.work.v, step.batch.n_tokens));
  const kernels::Sequence lanes = prefill.lanes();
  const bool is_seen = needs_queries(wants), is_sampled = run.samples_in(step);
  const bool goes_on = run.goes_on_behind(step, config_.n_reading_layers());
  if (!goes_on && !is_seen && !is_watched && !is_sampled) return {};
  SATCHEL_TRY(graph_->attend(step, {&lanes, 1},
                             is_seen || is_watched || is_sampled ? Lse::wanted : Lse::unwanted));
  SATCHEL_TRY(step.go_on());
  if (is_sampled) SATCHEL_TRY(sample(run, step));
  if (is_watched) SATCHEL_TRY(run.watch->see(step));
  if (is_seen) SATCHEL_TRY(prefill.observe(seen_of(step, x)));
  return goes_on ? graph_->finish(step, x) : Result<void>{};
}

// A layer that reads the lanes of an earlier one.
Result<void> Model::read_shared_chunk(const Run& run, const LayerStep& step, float* x,
                                      kvcache::Prefill& prefill) {
  if (!run.goes_on_behind(step, config_.n_reading_layers())) return {};
  SATCHEL_TRY(project(step, Project::queries, false, x));
  SATCHEL_TRY_ASSIGN(kernels::Sequence lanes,
                     prefill.shared_lanes(config_.cache_layer(step.layer)));
  lanes.n_tokens = step.batch.n_tokens;
  const bool is_sampled = run.samples_in(step);
  SATCHEL_TRY(graph_->attend(step, {&lanes, 1}, is_sampled ? Lse::wanted : Lse::unwanted));
  SATCHEL_TRY(step.go_on());
  if (is_sampled) SATCHEL_TRY(sample(run, step));
  return graph_->finish(step, x);
}

Result<void> Model::sample(const Run& run, const LayerStep& step) {
  const LayerConfig& layer = config_.layers[step.layer];
  const std::size_t first = run.first_of(step), n_heads = layer.attention.n_heads;
  for (std::size_t i = 0; i < run.samples.n(); ++i) {
    const std::size_t token = run.samples.token(i);
    if (token < first || token >= first + step.batch.n_tokens) continue;
    SATCHEL_TRY(copy(run.samples.queries(step.layer) + i * layer.q_width(),
                     step.work.q + (token - first) * layer.q_width(), layer.q_width()));
    SATCHEL_TRY(copy(run.samples.lse(step.layer) + i * n_heads,
                     step.work.lse + (token - first) * n_heads, n_heads));
  }
  return {};
}

Result<void> Model::decode_step(kvcache::Cache& cache, std::int32_t id, std::span<float> logits) {
  const DecodeItem item{.cache = &cache, .id = id, .logits = logits};
  return decode({&item, 1});
}

Result<void> Model::decode(std::span<const DecodeItem> items) {
  const std::size_t n = items.size();
  SATCHEL_ASSERT(n > 0);
  if (n > 1 && items[0].cache->is_far()) return decode_one_by_one(items);
  ids_.clear();
  positions_.clear();
  for (const DecodeItem& item : items) {
    ids_.push_back(item.id);
    positions_.push_back(static_cast<std::int32_t>(item.cache->n_tokens()));
  }
  SATCHEL_TRY_ASSIGN(const PassScratch scratch,
                     PassScratch::take(items[0].cache->arena(), config_, decoding_size(n)));
  for (const DecodeItem& item : items) SATCHEL_TRY(item.cache->begin_step());
  SATCHEL_TRY(decode_layers(scratch, items));
  for (std::size_t i = 0; i < n; ++i) SATCHEL_TRY(fetch_logits(scratch.work(), i, items[i].logits));
  for (const DecodeItem& item : items) SATCHEL_TRY(item.cache->end_step());
  return {};
}

// What one chat fetches of a layer, the next could not keep beside its own.
Result<void> Model::decode_one_by_one(std::span<const DecodeItem> items) {
  for (const DecodeItem& item : items) SATCHEL_TRY(decode({&item, 1}));
  return {};
}

Result<DraftedStep> Model::decode_drafted(kvcache::Cache& cache,
                                          std::span<const std::int32_t> ids) {
  SATCHEL_ASSERT(!ids.empty());  // begin_step() drops what was drafted, then looks at the room
  ids_.assign(ids.begin(), ids.end());
  positions_.resize(ids.size());
  std::iota(positions_.begin(), positions_.end(), static_cast<std::int32_t>(cache.n_tokens()));
  SATCHEL_TRY_ASSIGN(PassScratch scratch,
                     PassScratch::take(cache.arena(), config_, decoding_size(ids.size())));
  SATCHEL_TRY(cache.begin_step(ids.size()));
  const DecodeItem item{.cache = &cache};
  SATCHEL_TRY(decode_layers(scratch, {&item, 1}));
  return DraftedStep(*this, cache, std::move(scratch));
}

Result<void> Model::draft(kvcache::Cache& cache, std::int32_t id, std::span<float> logits) {
  ids_.assign(1, id);
  SATCHEL_TRY_ASSIGN(const PassScratch scratch,
                     PassScratch::take(cache.arena(), config_, decoding_size(1)));
  SATCHEL_TRY(cache.begin_draft());
  positions_.assign(1, static_cast<std::int32_t>(cache.n_tokens() + cache.n_drafted()));
  const DecodeItem item{.cache = &cache};
  SATCHEL_TRY(decode_layers(scratch, {&item, 1}));
  SATCHEL_TRY(fetch_logits(scratch.work(), 0, logits));
  cache.end_draft();
  return {};
}

Result<void> DraftedStep::fetch_logits(std::size_t i, std::span<float> logits) const {
  return model_->fetch_logits(scratch_.work(), i, logits);
}

Result<void> DraftedStep::end(std::size_t n_kept) {
  return cache_->end_step(n_kept);
}

// Of the tokens in ids_, at positions_; logits after each of them into scratch.
Result<void> Model::decode_layers(const PassScratch& scratch, std::span<const DecodeItem> items) {
  const std::stop_token never;
  const ProgressFn silent;
  Run run{
      .ids = ids_, .positions = positions_, .scratch = scratch, .stop = never, .progress = silent};
  SATCHEL_TRY(enter(run));
  for (std::size_t layer = 0; layer < config_.n_layers(); ++layer) {
    SATCHEL_TRY_ASSIGN(const LayerStep step, step_of(run, layer, 0, ids_.size()));
    SATCHEL_TRY(decode_layer(step, scratch.hidden(), items));
  }
  return make_logits(scratch.hidden(), ids_.size(), scratch.work());
}

// Nothing is taken between: what carry() gives stays valid.
Result<void> Model::decode_recurrent_layer(const LayerStep& step, float* x,
                                           std::span<const DecodeItem> items) {
  const std::size_t which = config_.state_layer(step.layer);
  carried_.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    carried_.push_back(items[i].cache->states().carry(which, 1));
    carried_.back().first_token = i;
  }
  return graph_->recur(step, carried_, x);
}

Result<void> Model::decode_layer(const LayerStep& step, float* x,
                                 std::span<const DecodeItem> items) {
  const LayerConfig& layer = config_.layers[step.layer];
  if (layer.is_recurrent()) return decode_recurrent_layer(step, x, items);
  const std::size_t of_cache = config_.cache_layer(step.layer);
  const bool has_lanes = layer.has_lanes();
  bool needs_lse = false;
  for (const DecodeItem& item : items) needs_lse = needs_lse || is_observed(*item.cache);
  SATCHEL_TRY(project(step, has_lanes ? Project::queries_keys_values : Project::queries, false, x));
  sequences_.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (has_lanes)
      SATCHEL_TRY(items[i].cache->append(of_cache, step.work.k + i * layer.kv_width(),
                                         step.work.v + i * layer.kv_width()));
    SATCHEL_TRY(items[i].cache->choose_pages(of_cache, step.work.q + i * layer.q_width()));
    kernels::Sequence lanes = items[i].cache->lanes(of_cache);
    lanes.first_token = i;
    sequences_.push_back(lanes);
  }
  SATCHEL_TRY(graph_->attend(step, sequences_, needs_lse ? Lse::wanted : Lse::unwanted));
  for (std::size_t i = 0; i < items.size(); ++i) {
    kvcache::Cache& cache = *items[i].cache;
    if (!is_observed(cache) || !has_lanes) continue;
    const kernels::Batch of_token{.positions = step.batch.positions + i,
                                  .n_tokens = 1,
                                  .position_min = positions_[i],
                                  .position_max = positions_[i]};
    const float* q = step.work.q + i * layer.q_width();
    const float* lse = step.work.lse + i * layer.attention.n_heads;
    if (cache.needs_step()) SATCHEL_TRY(cache.observe_step(of_cache, q, lse, of_token));
    if (cache.chooses_draft_pages())
      SATCHEL_TRY(cache.choose_draft_pages(of_cache, q, lse, of_token));
  }
  return graph_->finish(step, x);
}

// Recurrent layers go on from a checkpoint, so that tokens between it and the first are run too, as
// many at a time as the pass has memory for.
Result<void> Model::replay(const ReplayPass& pass) {
  const std::size_t n = pass.ids.size(), end = pass.first + n;
  SATCHEL_ASSERT(end <= pass.cache.n_tokens() && n <= end);
  SATCHEL_TRY_ASSIGN(std::size_t at, pass.cache.states().begin_at(pass.first));
  SATCHEL_ASSERT(pass.first - at <= pass.before.size());
  const std::size_t n_most = std::max(n, std::min(pass.first - at, kReplayedTokens));
  SATCHEL_TRY_ASSIGN(
      const PassScratch scratch,
      PassScratch::take(pass.cache.arena(), config_, prefill_size(config_, at, n_most)));
  SATCHEL_TRY(pass.cache.refresh_lanes());
  const ProgressFn silent;
  while (at < end) {
    const bool is_last = at >= pass.first;
    const std::size_t n_now = is_last ? n : std::min(n_most, pass.first - at);
    const std::span<const std::int32_t> ids =
        is_last ? pass.ids : pass.before.subspan(pass.before.size() - (pass.first - at), n_now);
    const std::vector<std::int32_t> positions = positions_from(at, n_now);
    Run run{.ids = ids,
            .positions = positions,
            .scratch = scratch,
            .stop = pass.stop,
            .progress = silent,
            .n_seen = at,
            .states = &pass.cache.states(),
            .samples = is_last ? pass.samples : AttentionSamples()};
    SATCHEL_TRY(replay_layers(run, pass.cache));
    if (is_last) SATCHEL_TRY(last_logits(run, pass.logits));
    at += n_now;
  }
  return pass.rows == nullptr ? Result<void>() : graph_->final_norm(scratch.hidden(), n, pass.rows);
}

Result<void> Model::replay_layers(Run& run, kvcache::Cache& cache) {
  SATCHEL_TRY(enter(run));
  for (std::size_t layer = 0; layer < config_.n_layers(); ++layer) {
    const bool is_recurrent = config_.layers[layer].is_recurrent();
    SATCHEL_TRY(is_recurrent ? carry_layer(run, layer) : replay_layer(run, layer, cache));
  }
  return {};
}

Result<void> Model::replay_layer(Run& run, std::size_t layer, kvcache::Cache& cache) {
  const std::size_t n = run.ids.size();
  SATCHEL_TRY(cache.fetch_lanes(config_.cache_layer(layer)));
  std::size_t n_now = 0;
  for (std::size_t at = 0; at < n; at += n_now) {
    n_now = std::min(chunk_tokens(config_, run.n_seen + at), n - at);
    float* x = run.x(at, config_.width);
    SATCHEL_TRY_ASSIGN(const LayerStep step, step_of(run, layer, at, n_now));
    SATCHEL_TRY(project(step, Project::queries, false, x));
    kernels::Sequence lanes = cache.lanes(config_.cache_layer(layer));
    lanes.n_tokens = n_now;
    const bool is_sampled = run.samples_in(step);
    SATCHEL_TRY(graph_->attend(step, {&lanes, 1}, is_sampled ? Lse::wanted : Lse::unwanted));
    if (is_sampled) SATCHEL_TRY(sample(run, step));
    SATCHEL_TRY(graph_->finish(step, x));
    SATCHEL_TRY(synchronise());
  }
  return {};
}

Result<void> Model::last_logits(const Run& run, std::span<float> logits) {
  if (logits.empty()) return {};
  const Workspace& work = run.scratch.work();
  SATCHEL_TRY(make_logits(run.x(run.ids.size() - 1, config_.width), 1, work));
  return fetch_logits(work, 0, logits);
}

Result<void> Model::make_logits(const float* x, std::size_t n, const Workspace& work) {
  SATCHEL_TRY(graph_->final_norm(x, n, work.normed));
  return graph_->logits(work.normed, n, work.logits);
}

Result<void> Model::fetch_logits(const Workspace& work, std::size_t row, std::span<float> logits) {
  SATCHEL_ASSERT(logits.size() == config_.n_vocabulary);
  SATCHEL_TRY(backend_.download(
      std::as_writable_bytes(logits),
      reinterpret_cast<const std::byte*>(work.logits + row * config_.n_vocabulary)));
  if (std::any_of(logits.begin(), logits.end(), [](float x_i) { return std::isnan(x_i); }))
    return Error{ErrorKind::internal, "LOGITS_NAN",
                 "The model produced NaN; its file may be damaged."};
  return {};
}

}  // namespace satchel::runtime
