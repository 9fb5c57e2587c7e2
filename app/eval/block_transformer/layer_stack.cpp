#include "app/eval/block_transformer/layer_stack.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/assert.h"
#include "kvcache/planning/memory_planner.h"
#include "kvcache/recipes/pipeline.h"

namespace satchel::eval {
namespace {

constexpr double kRopeBase = 10000;

std::uint32_t fnv(const std::string& name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

runtime::ModelConfig config_of(const StackShape& shape, const kernels::Backend& backend) {
  runtime::ModelConfig config;
  config.architecture = config.name = "llama";
  config.width = shape.width;
  config.n_vocabulary = shape.n_vocabulary;
  config.context = std::size_t{1} << 30;
  config.work_limits = backend.work_limits();
  for (std::size_t i = 0; i < shape.n_layers; ++i) {
    runtime::LayerConfig layer;
    layer.attention = shape.attention();
    layer.block = layer.ffn_block = i;
    layer.ffn_width = shape.ffn_width;
    config.layers.push_back(std::move(layer));
  }
  return config;
}

}  // namespace

kvcache::LayerShape StackShape::attention() const {
  kvcache::LayerShape layer{.n_heads = n_heads, .n_kv_heads = n_kv_heads, .head_dim = head_dim};
  layer.attention_scale = 1 / std::sqrt(static_cast<float>(head_dim));
  for (std::size_t i = 0; i < head_dim; i += 2)
    layer.inverse_frequency.push_back(
        std::pow(kRopeBase, -static_cast<double>(i) / static_cast<double>(head_dim)));
  return layer;
}

kvcache::CacheShape StackShape::cache() const {
  kvcache::CacheShape shape;
  shape.layers.assign(n_layers, attention());
  return shape;
}

std::vector<float> made_values(const std::string& name, std::size_t n, double scale) {
  std::vector<float> out(n);
  const std::uint32_t first = fnv(name);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t x = first + static_cast<std::uint32_t>(i) * 2654435761u;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    out[i] = static_cast<float>(scale * (static_cast<double>(x) * 0x1p-31 - 1));
  }
  return out;
}

Result<std::unique_ptr<kernels::Weight>> made_matrix(kernels::Backend& backend,
                                                     const std::string& name, std::size_t n_out,
                                                     std::size_t n_in,
                                                     std::vector<std::vector<float>>& values) {
  const double scale = std::sqrt(3.0 / static_cast<double>(n_in));
  values.push_back(made_values(name, n_out * n_in, scale));
  return backend.load_weight({.type = kernels::WeightType::f32,
                              .n_out = n_out,
                              .n_in = n_in,
                              .bytes = std::as_bytes(std::span(values.back()))});
}

Result<std::unique_ptr<CacheLanes>> CacheLanes::open(std::shared_ptr<kernels::Backend> backend,
                                                     const StackShape& shape,
                                                     const kvcache::Recipe& recipe,
                                                     std::size_t n_positions) {
  // Nobody asks scorers or page selectors here.
  if (recipe.pipeline().decides() || !recipe.pipeline().reader().reads_all())
    return Error{ErrorKind::unsupported, "CACHE_RECIPE",
                 "The lanes of made-up layers take recipes that only quantise and read all, such "
                 "as full and balanced, not \"" +
                     std::string(recipe.name()) + "\"."};
  n_positions = std::max(n_positions, kernels::kPageTokens);  // no cache opens for less
  SATCHEL_TRY_ASSIGN(const kvcache::CacheNeed need,
                     kvcache::cache_need(shape.cache(), recipe, n_positions));
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  SATCHEL_TRY_ASSIGN(const kvcache::CacheNeed exact,
                     kvcache::cache_need(shape.cache(), full, n_positions));
  SATCHEL_TRY_ASSIGN(auto arena,
                     kvcache::Arena::open(std::move(backend), need.total() + exact.total()));
  SATCHEL_TRY_ASSIGN(auto cache, kvcache::Cache::open(std::move(arena), shape.cache(), recipe));
  return std::unique_ptr<CacheLanes>(new CacheLanes(std::move(cache)));
}

Result<void> CacheLanes::compress() {
  SATCHEL_TRY(cache_->compactor().end_turn());
  return {};
}

Result<std::unique_ptr<ShortLanes>> ShortLanes::open(std::shared_ptr<kernels::Backend> backend,
                                                     const StackShape& shape,
                                                     std::size_t n_positions_max) {
  std::unique_ptr<ShortLanes> out(new ShortLanes(std::move(backend), shape, n_positions_max));
  kernels::Backend& on = *out->backend_;
  SATCHEL_TRY_ASSIGN(out->rows_, on.allocate(shape.bytes_per_position() * n_positions_max));
  std::vector<std::int32_t> all(n_positions_max);
  std::iota(all.begin(), all.end(), 0);
  SATCHEL_TRY_ASSIGN(out->positions_, on.allocate(all.size() * sizeof(std::int32_t)));
  SATCHEL_TRY(on.upload(out->positions_.data(), std::as_bytes(std::span(all))));
  for (std::size_t i = 0; i < shape.n_layers; ++i) {
    SATCHEL_TRY_ASSIGN(out->tables_.emplace_back(), on.make_lane_table(shape.n_kv_heads));
  }
  out->shown_.resize(shape.n_kv_heads);
  return out;
}

Result<void> ShortLanes::begin(std::size_t n) {
  SATCHEL_ASSERT(n_ + n <= n_max_);
  n_now_ = n;
  return {};
}

Result<void> ShortLanes::append(std::size_t layer, const float* k, const float* v) {
  const std::size_t d = shape_.head_dim, n_heads = shape_.n_kv_heads, lane = n_max_ * d;
  Half* first = reinterpret_cast<Half*>(rows_.data()) + layer * 2 * n_heads * lane;
  for (std::size_t head = 0; head < n_heads; ++head) {
    Half *keys = first + head * lane, *values = first + (n_heads + head) * lane;
    kernels::StoreArgs items[2];
    for (const bool of_keys : {true, false})
      items[of_keys ? 0 : 1] = {.from = (of_keys ? k : v) + head * d,
                                .n_rows = n_now_,
                                .n_values = d,
                                .from_stride = n_heads * d,
                                .to = (of_keys ? keys : values) + n_ * d};
    SATCHEL_TRY(backend_->store(items));
    shown_[head] = {.k = keys,
                    .v = values,
                    .positions = reinterpret_cast<const std::int32_t*>(positions_.data()),
                    .n_tokens = n_ + n_now_};
    SATCHEL_TRY(tables_[layer]->set_runs(head, {&shown_[head], 1}));
  }
  return {};
}

kernels::Sequence ShortLanes::lanes(std::size_t layer) const {
  return {.lanes = tables_[layer].get(), .n_tokens = n_now_};
}

Result<void> ShortLanes::end() {
  n_ += n_now_;
  return {};
}

LayerStack::LayerStack(std::shared_ptr<kernels::Backend> backend, const StackShape& shape)
    : backend_(std::move(backend)), config_(config_of(shape, *backend_)) {}

Result<std::unique_ptr<LayerStack>> LayerStack::open(std::shared_ptr<kernels::Backend> backend,
                                                     const StackShape& shape,
                                                     const std::string& name,
                                                     std::size_t n_at_once) {
  std::unique_ptr<LayerStack> out(new LayerStack(std::move(backend), shape));
  out->graph_ = runtime::find_architecture("llama")->graph(*out->backend_, out->config_);
  SATCHEL_TRY(out->make_weights(name));
  const runtime::PassSize size = runtime::decoding_size(n_at_once);
  SATCHEL_TRY_ASSIGN(
      out->arena_,
      kvcache::Arena::open(out->backend_, runtime::PassScratch::bytes(out->config_, size) + 256));
  SATCHEL_TRY_ASSIGN(out->scratch_, runtime::PassScratch::take(*out->arena_, out->config_, size));
  return out;
}

Result<void> LayerStack::make_weights(const std::string& name) {
  for (const runtime::TensorSpec& spec : graph_->tensors()) {
    if (spec.is_optional) continue;
    const std::size_t n = spec.n_out * spec.n_in;
    n_parameters_ += n;
    if (spec.matrix != nullptr) {
      SATCHEL_TRY_ASSIGN(matrices_.emplace_back(),
                         made_matrix(*backend_, name + spec.name, spec.n_out, spec.n_in, values_));
      *spec.matrix = matrices_.back().get();
      continue;
    }
    std::vector<float> gains = made_values(name + spec.name, n, 0.25);
    for (float& gain : gains) gain += 1;
    SATCHEL_TRY_ASSIGN(vectors_.emplace_back(), backend_->allocate(n * sizeof(float)));
    SATCHEL_TRY(backend_->upload(vectors_.back().data(), std::as_bytes(std::span(gains))));
    *spec.vector = reinterpret_cast<const float*>(vectors_.back().data());
  }
  return {};
}

Result<void> LayerStack::pass(StackLanes& lanes, float* x, std::size_t n) {
  std::vector<std::int32_t> positions(n);
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(lanes.n_positions()));
  SATCHEL_TRY(backend_->upload(reinterpret_cast<std::byte*>(scratch_.positions()),
                               std::as_bytes(std::span(positions))));
  SATCHEL_TRY(lanes.begin(n));
  const std::stop_token never;
  for (std::size_t layer = 0; layer < config_.n_layers(); ++layer) {
    const runtime::LayerStep step{.layer = layer,
                                  .batch = {.positions = scratch_.positions(),
                                            .n_tokens = n,
                                            .position_min = positions.front(),
                                            .position_max = positions.back()},
                                  .rotation = scratch_.work().rotation,
                                  .work = scratch_.work(),
                                  .stop = never};
    const kernels::RopeTable rope = config_.layers[layer].attention.rope();
    if (layer == 0)  // all have the same
      SATCHEL_TRY(backend_->make_rotation(step.batch, rope, step.work.rotation));
    SATCHEL_TRY(graph_->project(step, runtime::Graph::Project::queries_keys_values, x));
    SATCHEL_TRY(graph_->rotate(step, runtime::Graph::Project::queries_keys_values));
    SATCHEL_TRY(lanes.append(layer, step.work.k, step.work.v));
    const kernels::Sequence sequence = lanes.lanes(layer);
    SATCHEL_TRY(graph_->attend(step, {&sequence, 1}, runtime::Graph::Lse::unwanted));
    SATCHEL_TRY(graph_->finish(step, x));
  }
  return lanes.end();
}

Result<void> LayerStack::logits(const float* x, std::span<float> out) {
  const runtime::Workspace& work = scratch_.work();
  SATCHEL_TRY(graph_->final_norm(x, 1, work.normed));
  SATCHEL_TRY(graph_->logits(work.normed, 1, work.logits));
  return backend_->download(std::as_writable_bytes(out),
                            reinterpret_cast<const std::byte*>(work.logits));
}

}  // namespace satchel::eval
