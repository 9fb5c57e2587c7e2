#include "app/eval/measure/row_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "app/eval/measure/passes.h"
#include "runtime/engine_state.h"
#include "runtime/model/scratch.h"

namespace satchel::eval {
namespace {

using Ids = std::vector<std::int32_t>;
using runtime::Graph;
using runtime::LayerStep;

constexpr std::size_t kCheckLayer = 1;   // as CacheBlend's code
constexpr std::size_t kLogitsMax = 128;  // rows of a read(): an answer

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}
template <class T>
std::byte* as_bytes(T* values) {
  return reinterpret_cast<std::byte*>(values);
}

Ids numbers_from(std::size_t first, std::size_t n) {
  Ids numbers(n);
  std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(first));
  return numbers;
}

}  // namespace

struct RowText::Run {
  Ids ids, positions;  // rising
  runtime::PassScratch scratch = {};
  kernels::Buffer scores = {};                  // of attention(): [n_max_]
  std::span<const IndexRange> stretches = {};   // of read_seeing()
  std::vector<std::vector<float>> shares = {};  // likewise: [stretches][ids]
  // Of read_partly(): keys before RoPE and values of all tokens in the layer they went through
  // last, [ids, kv_width].
  kernels::Buffer made_k = {}, made_v = {};
  std::size_t made_by = 0;
};

kernels::Backend& RowText::backend() const {
  return *engine_->state().backend;
}

Result<RowText> RowText::open(runtime::Engine& engine, std::size_t n_tokens_max,
                              std::stop_token stop) {
  RowText text(engine, std::move(stop));
  if (n_tokens_max > text.config().context)
    return context_full(n_tokens_max, text.config().context);
  kernels::Backend& backend = text.backend();
  std::size_t bytes = 0;
  for (const runtime::LayerConfig& layer : text.config().layers) {
    if (!layer.has_lanes() || layer.attention.is_latent)
      return Error{ErrorKind::unsupported, "MODEL_ARCH",
                   "This works only with a model whose layers are all of plain attention."};
    text.layer_at_.push_back(bytes);
    bytes += 2 * layer.kv_width() * n_tokens_max * sizeof(Half);
    SATCHEL_TRY_ASSIGN(text.tables_.emplace_back(),
                       backend.make_lane_table(layer.attention.n_kv_heads));
  }
  text.n_max_ = n_tokens_max;
  SATCHEL_TRY_ASSIGN(text.rows_, backend.allocate(bytes));
  SATCHEL_TRY_ASSIGN(text.positions_, backend.allocate(n_tokens_max * sizeof(std::int32_t)));
  Ids all = numbers_from(0, n_tokens_max);
  SATCHEL_TRY(backend.upload(text.positions_.data(), bytes_of(all)));
  const std::size_t scratch = runtime::PassScratch::bytes(
      text.config(), {.n_tokens = n_tokens_max, .n_chunk = n_tokens_max, .n_logits = kLogitsMax});
  SATCHEL_TRY_ASSIGN(text.arena_, kvcache::Arena::open(engine.state().backend, scratch + 256));
  return text;
}

Half* RowText::k(std::size_t layer, std::size_t head) const {
  const kvcache::LayerShape& shape = config().layers[layer].attention;
  auto* rows = reinterpret_cast<Half*>(const_cast<std::byte*>(rows_.data()) + layer_at_[layer]);
  return rows + head * n_max_ * shape.head_dim;
}

Half* RowText::v(std::size_t layer, std::size_t head) const {
  return k(layer, config().layers[layer].attention.n_kv_heads + head);
}

// needs   ids and positions
Result<void> RowText::enter(Run& run, std::size_t n_logits) {
  const std::size_t n = run.ids.size();
  runtime::PassSize size{.n_tokens = n,
                         .n_chunk = std::min(n, runtime::chunk_tokens(config(), 0)),
                         .n_logits = std::max<std::size_t>(1, n_logits)};
  SATCHEL_TRY_ASSIGN(run.scratch, runtime::PassScratch::take(*arena_, config(), size));
  SATCHEL_TRY(backend().upload(as_bytes(run.scratch.positions()), bytes_of(run.positions)));
  return engine_->model().graph().embed(run.ids, run.scratch.hidden());
}

Result<LayerStep> RowText::step_of(Run& run, std::size_t layer, std::size_t at, std::size_t n) {
  const LayerStep step{.layer = layer,
                       .batch = {.positions = run.scratch.positions() + at,
                                 .n_tokens = n,
                                 .position_min = run.positions[at],
                                 .position_max = run.positions[at + n - 1]},
                       .ids = std::span(run.ids).subspan(at, n),
                       .rotation = run.scratch.work().rotation,
                       .work = run.scratch.work(),
                       .stop = stop_};
  const kvcache::LayerShape& shape = config().layers[layer].attention;
  if (shape.n_rotated() > 0)
    SATCHEL_TRY(backend().make_rotation(step.batch, shape.rope(), step.work.rotation));
  return step;
}

Result<LayerStep> RowText::project(Run& run, std::size_t layer, std::size_t at, std::size_t n) {
  SATCHEL_TRY_ASSIGN(const LayerStep step, step_of(run, layer, at, n));
  Graph& graph = engine_->model().graph();
  const float* x = run.scratch.hidden() + at * config().width;
  SATCHEL_TRY(graph.project(step, Graph::Project::queries_keys_values, x));
  if (run.made_k.size() > 0) {
    const std::size_t row = config().layers[layer].kv_width() * sizeof(float);
    SATCHEL_TRY(backend().copy(run.made_k.data() + at * row, as_bytes(step.work.k), n * row));
    SATCHEL_TRY(backend().copy(run.made_v.data() + at * row, as_bytes(step.work.v), n * row));
    run.made_by = layer;
  }
  SATCHEL_TRY(graph.rotate(step, Graph::Project::queries_keys_values));
  return step;
}

// Rows side by side go together.
Result<void> RowText::store(std::size_t layer, std::span<const std::int32_t> positions,
                            const runtime::Workspace& work) {
  const kvcache::LayerShape& shape = config().layers[layer].attention;
  const std::size_t d = shape.head_dim, stride = shape.n_kv_heads * d;
  std::vector<kernels::StoreArgs> items;
  for (std::size_t at = 0, n = 0; at < positions.size(); at += n) {
    n = 1;
    while (at + n < positions.size() && positions[at + n] == positions[at + n - 1] + 1) ++n;
    const auto slot = static_cast<std::size_t>(positions[at]);
    for (std::size_t head = 0; head < shape.n_kv_heads; ++head)
      for (const auto& [from, to] : {std::pair(work.k, k(layer, head)), {work.v, v(layer, head)}})
        items.push_back({.from = from + at * stride + head * d,
                         .n_rows = n,
                         .n_values = d,
                         .from_stride = stride,
                         .to = to + slot * d});
  }
  return backend().store(items);
}

Result<void> RowText::show(std::size_t layer, std::size_t n_tokens) {
  shown_.resize(config().layers[layer].attention.n_kv_heads);
  for (std::size_t head = 0; head < shown_.size(); ++head) {
    shown_[head] = {.k = k(layer, head),
                    .v = v(layer, head),
                    .positions = reinterpret_cast<const std::int32_t*>(positions_.data()),
                    .n_tokens = n_tokens};
    SATCHEL_TRY(tables_[layer]->set_runs(head, {&shown_[head], 1}));
  }
  return {};
}

kernels::LaneQueries RowText::lane_queries(const LayerStep& step, std::size_t head,
                                           std::span<const kernels::ExactRun> keys) const {
  const kvcache::LayerShape& shape = config().layers[step.layer].attention;
  return {.q = step.work.q,
          .batch = step.batch,
          .n_heads = shape.n_heads,
          .head_dim = shape.head_dim,
          .first_head = head * shape.n_group(),
          .n_group = shape.n_group(),
          .keys = {.runs = keys, .pages = {}},
          .scale = shape.attention_scale,
          .soft_cap = shape.soft_cap,
          .window = shape.window,
          .rope = shape.rope()};
}

Result<void> RowText::add_scores(const Run& run, const LayerStep& step) {
  const kvcache::LayerShape& shape = config().layers[step.layer].attention;
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    const kernels::ScoreArgs args{
        .lane = lane_queries(step, head, {&shown_[head], 1}),
        .lse = step.work.lse,
        .scores = reinterpret_cast<float*>(const_cast<std::byte*>(run.scores.data()))};
    SATCHEL_TRY(backend().score({&args, 1}));
  }
  return {};
}

// needs   step.work.lse as attend() left it
Result<void> RowText::add_shares(Run& run, const LayerStep& step, std::size_t at) {
  const kvcache::LayerShape& shape = config().layers[step.layer].attention;
  const std::size_t n = step.batch.n_tokens * shape.n_heads;
  const float weight = 1 / static_cast<float>(shape.n_heads * config().n_layers());
  std::vector<float> all(n), of(n);
  SATCHEL_TRY(backend().download(bytes_of(all), as_bytes(step.work.lse)));
  SATCHEL_TRY_ASSIGN(kernels::Buffer lse, backend().allocate(n * sizeof(float)));
  for (std::size_t s = 0; s < run.stretches.size(); ++s) {
    of.assign(n, -std::numeric_limits<float>::infinity());
    SATCHEL_TRY(backend().upload(lse.data(), bytes_of(of)));
    const auto [begin, end] = run.stretches[s];
    for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
      kernels::ExactRun keys = shown_[head];
      keys.k += begin * shape.head_dim;
      keys.v += begin * shape.head_dim;
      keys.positions += begin;
      keys.n_tokens = end - begin;
      const kernels::LogSumExpArgs args{.lane = lane_queries(step, head, {&keys, 1}),
                                        .lse = reinterpret_cast<float*>(lse.data())};
      SATCHEL_TRY(backend().logsumexp({&args, 1}));
    }
    SATCHEL_TRY(backend().download(bytes_of(of), lse.data()));
    for (std::size_t i = 0; i < n; ++i)
      run.shares[s][at + i / shape.n_heads] += weight * std::exp(of[i] - all[i]);
  }
  return {};
}

// Attention is masked by position, so what stands behind a token may be as old as it likes.
Result<void> RowText::go_through(Run& run, std::size_t layer) {
  Graph& graph = engine_->model().graph();
  const bool is_scored = run.scores.size() > 0, is_shared = !run.stretches.empty();
  for (std::size_t at = 0, n = 0; at < run.ids.size(); at += n) {
    n = std::min(runtime::chunk_tokens(config(), static_cast<std::size_t>(run.positions[at])),
                 run.ids.size() - at);
    SATCHEL_TRY_ASSIGN(const LayerStep step, project(run, layer, at, n));
    SATCHEL_TRY(store(layer, std::span(run.positions).subspan(at, n), step.work));
    SATCHEL_TRY(show(layer, static_cast<std::size_t>(step.batch.position_max) + 1));
    const kernels::Sequence lanes{.lanes = tables_[layer].get(), .n_tokens = n};
    SATCHEL_TRY(graph.attend(step, {&lanes, 1},
                             is_scored || is_shared ? Graph::Lse::wanted : Graph::Lse::unwanted));
    if (is_scored) SATCHEL_TRY(add_scores(run, step));
    if (is_shared) SATCHEL_TRY(add_shares(run, step, at));
    SATCHEL_TRY(graph.finish(step, run.scratch.hidden() + at * config().width));
  }
  return {};
}

Result<void> RowText::go_through(Run& run) {
  for (std::size_t layer = 0; layer < config().n_layers(); ++layer)
    SATCHEL_TRY(go_through(run, layer));
  SATCHEL_TRY(backend().finish());
  return {};
}

Result<std::vector<float>> RowText::read(std::span<const std::int32_t> ids, std::size_t n_logits) {
  if (ids_.size() + ids.size() > n_max_) return context_full(ids_.size() + ids.size(), n_max_);
  Run run{.ids = {ids.begin(), ids.end()}, .positions = numbers_from(ids_.size(), ids.size())};
  SATCHEL_TRY(enter(run, n_logits));
  SATCHEL_TRY(go_through(run));
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  std::vector<float> logits(n_logits * config().n_vocabulary);
  if (n_logits == 0) return logits;
  const runtime::Workspace& work = run.scratch.work();
  const float* x = run.scratch.hidden() + (ids.size() - n_logits) * config().width;
  for (std::size_t i = 0; i < n_logits; ++i, x += config().width) {
    SATCHEL_TRY(engine_->model().graph().final_norm(x, 1, work.normed));
    SATCHEL_TRY(engine_->model().graph().logits(work.normed, 1, work.logits));
    const auto row = std::span(logits).subspan(i * config().n_vocabulary, config().n_vocabulary);
    SATCHEL_TRY(backend().download(std::as_writable_bytes(row), as_bytes(work.logits)));
  }
  return logits;
}

Result<void> RowText::make_rows(Run& run, std::size_t layer, PartialLayers& layers) {
  const kvcache::LayerShape& shape = config().layers[layer].attention;
  const std::size_t from_width = config().layers[run.made_by].kv_width();
  for (std::size_t at = 0, n = 0; at < run.ids.size(); at += n) {
    n = std::min(runtime::chunk_tokens(config(), 0), run.ids.size() - at);
    SATCHEL_TRY_ASSIGN(const LayerStep step, step_of(run, layer, at, n));
    const PartialLayers::Source from{
        .layer = run.made_by,
        .n_tokens = n,
        .x = run.scratch.hidden() + at * config().width,
        .k = reinterpret_cast<const float*>(run.made_k.data()) + at * from_width,
        .v = reinterpret_cast<const float*>(run.made_v.data()) + at * from_width};
    SATCHEL_TRY(layers.make(layer, from, step.work.k, step.work.v));
    if (shape.n_rotated() > 0)
      SATCHEL_TRY(backend().rope({.q = step.work.k,
                                  .n_tokens = n,
                                  .n_heads = shape.n_kv_heads,
                                  .n_kv_heads = shape.n_kv_heads,
                                  .head_dim = shape.head_dim,
                                  .rotation = step.rotation,
                                  .n_rotated = shape.n_rotated(),
                                  .pairs = shape.rope_pairs}));
    SATCHEL_TRY(store(layer, std::span(run.positions).subspan(at, n), step.work));
  }
  return {};
}

Result<void> RowText::read_partly(std::span<const std::int32_t> ids, PartialLayers& layers) {
  if (ids_.size() + ids.size() > n_max_) return context_full(ids_.size() + ids.size(), n_max_);
  Run run{.ids = {ids.begin(), ids.end()}, .positions = numbers_from(ids_.size(), ids.size())};
  std::size_t widest = 0;
  for (const runtime::LayerConfig& layer : config().layers)
    widest = std::max(widest, layer.kv_width());
  for (kernels::Buffer* made : {&run.made_k, &run.made_v}) {
    SATCHEL_TRY_ASSIGN(*made, backend().allocate(ids.size() * widest * sizeof(float)));
  }
  SATCHEL_TRY(enter(run, 0));
  for (std::size_t layer = 0; layer < config().n_layers(); ++layer) {
    if (layers.goes_through(layer)) SATCHEL_TRY(go_through(run, layer));
    if (layers.makes(layer)) SATCHEL_TRY(make_rows(run, layer, layers));
  }
  SATCHEL_TRY(backend().finish());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  return {};
}

Result<std::vector<std::vector<float>>> RowText::read_seeing(
    std::span<const std::int32_t> ids, std::span<const IndexRange> stretches) {
  if (ids_.size() + ids.size() > n_max_) return context_full(ids_.size() + ids.size(), n_max_);
  Run run{.ids = {ids.begin(), ids.end()}, .positions = numbers_from(ids_.size(), ids.size())};
  run.stretches = stretches;
  run.shares.assign(stretches.size(), std::vector<float>(ids.size()));
  SATCHEL_TRY(enter(run, 0));
  SATCHEL_TRY(go_through(run));
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  return std::move(run.shares);
}

Result<StretchRows> RowText::rows(std::size_t first, std::size_t n_tokens) const {
  const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(first);
  StretchRows out{.first = first,
                  .ids = {begin, begin + static_cast<std::ptrdiff_t>(n_tokens)},
                  .k = {},
                  .v = {}};
  for (std::size_t layer = 0; layer < config().n_layers(); ++layer)
    SATCHEL_TRY(fetch(layer, first, n_tokens, out));
  return out;
}

// The layer's lanes, behind those that `to` has.
Result<void> RowText::fetch(std::size_t layer, std::size_t first, std::size_t n_tokens,
                            StretchRows& to) const {
  const kvcache::LayerShape& shape = config().layers[layer].attention;
  const std::size_t at = first * shape.head_dim, n = n_tokens * shape.head_dim;
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    SATCHEL_TRY(backend().download(bytes_of(to.k.emplace_back(n)), as_bytes(k(layer, head) + at)));
    SATCHEL_TRY(backend().download(bytes_of(to.v.emplace_back(n)), as_bytes(v(layer, head) + at)));
  }
  return {};
}

// scratch.work().rotation holds the rotation by the shift, once for each token.
Result<void> RowText::place_keys(std::size_t layer, const StretchRows& stretch,
                                 std::size_t first_lane, const runtime::PassScratch& scratch) {
  const kvcache::LayerShape& shape = config().layers[layer].attention;
  const std::size_t d = shape.head_dim, n = stretch.ids.size();
  float* keys = scratch.work().k;
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    std::vector<float> values;
    for (const Half value : stretch.k[first_lane + head]) values.push_back(half_to_float(value));
    SATCHEL_TRY(backend().upload(as_bytes(keys), bytes_of(values)));
    SATCHEL_TRY(backend().rope({.q = keys,
                                .n_tokens = n,
                                .n_heads = 1,
                                .n_kv_heads = 1,
                                .head_dim = d,
                                .rotation = scratch.work().rotation,
                                .n_rotated = shape.n_rotated(),
                                .pairs = shape.rope_pairs}));
    const kernels::StoreArgs item{.from = keys,
                                  .n_rows = n,
                                  .n_values = d,
                                  .from_stride = d,
                                  .to = k(layer, head) + ids_.size() * d};
    SATCHEL_TRY(backend().store({&item, 1}));
  }
  return {};
}

Result<void> RowText::place(const StretchRows& stretch) {
  const std::size_t begin = ids_.size(), n = stretch.ids.size();
  if (begin + n > n_max_) return context_full(begin + n, n_max_);
  const auto by = static_cast<std::int32_t>(begin) - static_cast<std::int32_t>(stretch.first);
  SATCHEL_TRY_ASSIGN(const runtime::PassScratch scratch,
                     runtime::PassScratch::take(*arena_, config(), {.n_tokens = n, .n_chunk = n}));
  Ids shifts(n, by);
  SATCHEL_TRY(backend().upload(as_bytes(scratch.positions()), bytes_of(shifts)));
  const kernels::Batch batch{
      .positions = scratch.positions(), .n_tokens = n, .position_min = by, .position_max = by};
  for (std::size_t layer = 0, lane = 0; layer < config().n_layers(); ++layer) {
    const kvcache::LayerShape& shape = config().layers[layer].attention;
    for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
      const std::size_t at = begin * shape.head_dim;
      SATCHEL_TRY(backend().upload(as_bytes(v(layer, head) + at),
                                   std::as_bytes(std::span(stretch.v[lane + head]))));
      SATCHEL_TRY(backend().upload(as_bytes(k(layer, head) + at),
                                   std::as_bytes(std::span(stretch.k[lane + head]))));
    }
    if (by != 0 && shape.n_rotated() > 0) {
      SATCHEL_TRY(backend().make_rotation(batch, shape.rope(), scratch.work().rotation));
      SATCHEL_TRY(place_keys(layer, stretch, lane, scratch));
    }
    lane += shape.n_kv_heads;
  }
  ids_.insert(ids_.end(), stretch.ids.begin(), stretch.ids.end());
  return {};
}

Result<std::vector<float>> RowText::attention(std::span<const std::int32_t> ids) {
  if (ids_.size() + ids.size() > n_max_) return context_full(ids_.size() + ids.size(), n_max_);
  Run run{.ids = {ids.begin(), ids.end()}, .positions = numbers_from(ids_.size(), ids.size())};
  SATCHEL_TRY_ASSIGN(run.scores, backend().allocate(n_max_ * sizeof(float)));
  SATCHEL_TRY(enter(run, 0));
  SATCHEL_TRY(go_through(run));
  std::vector<float> out(ids_.size());
  SATCHEL_TRY(backend().download(bytes_of(out), run.scores.data()));
  return out;
}

Result<void> RowText::reread(std::span<const std::int32_t> positions) {
  if (positions.empty()) return {};
  Run run{.ids = {}, .positions = {positions.begin(), positions.end()}};
  for (const std::int32_t at : positions) run.ids.push_back(ids_[static_cast<std::size_t>(at)]);
  SATCHEL_TRY(enter(run, 0));
  return go_through(run);
}

// Of keys and values as the layer makes them now, from those held: sums of squares.
Result<std::vector<float>> RowText::changes(Run& run, std::size_t layer) {
  const kvcache::LayerShape& shape = config().layers[layer].attention;
  const std::size_t d = shape.head_dim, width = shape.n_kv_heads * d;
  std::vector<float> out(run.ids.size());
  StretchRows held;
  SATCHEL_TRY(fetch(layer, 0, ids_.size(), held));
  for (std::size_t at = 0, n = 0; at < out.size(); at += n) {
    n = std::min(runtime::chunk_tokens(config(), 0), out.size() - at);
    SATCHEL_TRY_ASSIGN(const LayerStep step, project(run, layer, at, n));
    std::vector<float> now_k(n * width), now_v(n * width);
    SATCHEL_TRY(backend().download(bytes_of(now_k), as_bytes(step.work.k)));
    SATCHEL_TRY(backend().download(bytes_of(now_v), as_bytes(step.work.v)));
    for (std::size_t i = 0; i < n * width; ++i) {
      const std::size_t token = at + i / width, head = i % width / d;
      const std::size_t place = static_cast<std::size_t>(run.positions[token]) * d + i % d;
      const float dk = now_k[i] - half_to_float(held.k[head][place]);
      const float dv = now_v[i] - half_to_float(held.v[head][place]);
      out[token] += dk * dk + dv * dv;
    }
  }
  return out;
}

// Only these of the run's tokens go on.
Result<void> RowText::keep(Run& run, std::span<const std::int32_t> chosen) {
  const std::size_t row = config().width * sizeof(float), n = chosen.size();
  SATCHEL_TRY_ASSIGN(kernels::Buffer gathered, backend().allocate(n * row));
  SATCHEL_TRY_ASSIGN(kernels::Buffer indices, backend().allocate(chosen.size_bytes()));
  SATCHEL_TRY(backend().upload(indices.data(), std::as_bytes(chosen)));
  const kernels::GatherArgs args{.from = as_bytes(run.scratch.hidden()),
                                 .indices = reinterpret_cast<const std::int32_t*>(indices.data()),
                                 .n_rows = n,
                                 .row_bytes = row,
                                 .to = gathered.data()};
  SATCHEL_TRY(backend().gather({&args, 1}));
  SATCHEL_TRY(backend().copy(as_bytes(run.scratch.hidden()), gathered.data(), n * row));
  for (std::size_t i = 0; i < n; ++i) {
    run.ids[i] = run.ids[static_cast<std::size_t>(chosen[i])];
    run.positions[i] = run.positions[static_cast<std::size_t>(chosen[i])];
  }
  run.ids.resize(n);
  run.positions.resize(n);
  SATCHEL_TRY(backend().upload(as_bytes(run.scratch.positions()), bytes_of(run.positions)));
  SATCHEL_TRY(backend().finish());  // before the buffers go
  return {};
}

Result<double> RowText::reread_changed(std::size_t first, double share) {
  const std::size_t n = ids_.size() - first;
  if (n == 0 || share <= 0) return 0.0;
  Run run{.ids = {ids_.begin() + static_cast<std::ptrdiff_t>(first), ids_.end()},
          .positions = numbers_from(first, n)};
  SATCHEL_TRY(enter(run, 0));
  std::size_t n_read = 0;
  for (std::size_t layer = 0; layer < config().n_layers(); ++layer) {
    if (layer == kCheckLayer) {
      SATCHEL_TRY_ASSIGN(const std::vector<float> changed, changes(run, layer));
      SATCHEL_TRY(keep(run, largest(changed, share)));
    }
    n_read += run.ids.size();
    SATCHEL_TRY(go_through(run, layer));
  }
  SATCHEL_TRY(backend().finish());
  return static_cast<double>(n_read) / static_cast<double>(n * config().n_layers());
}

Ids largest(std::span<const float> values, double share) {
  Ids order = numbers_from(0, values.size());
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::int32_t i) { return values[static_cast<std::size_t>(i)]; });
  const double n = std::ceil(share * static_cast<double>(values.size()));
  order.resize(std::min(values.size(), static_cast<std::size_t>(n)));
  std::ranges::sort(order);
  return order;
}

}  // namespace satchel::eval
