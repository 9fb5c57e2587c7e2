#include "app/eval/measure/reader_meter.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/eval/measure/passes.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/clock.h"
#include "runtime/engine_state.h"
#include "runtime/fidelity/fidelity.h"
#include "runtime/model/model.h"

namespace satchel::eval {
namespace {

using runtime::AttentionSamples;
using runtime::Model;

// Repeats the sampled queries, each as the step of one token.
class ReadMass {
 public:
  ReadMass(Model& model, kvcache::Cache& cache, const AttentionSamples& samples,
           const runtime::PassScratch& scratch, std::span<const std::int32_t> positions,
           const std::stop_token& stop)
      : model_(model),
        cache_(cache),
        samples_(samples),
        scratch_(scratch),
        positions_(positions),
        stop_(stop),
        left_(model.config().n_layers()) {}

  // Layer by layer, as a selector may leave its choice to the next layers.
  Result<void> take(std::size_t sample) {
    for (std::size_t layer = 0; layer < model_.config().n_layers(); ++layer)
      if (!model_.config().layers[layer].is_recurrent()) SATCHEL_TRY(take(sample, layer));
    return {};
  }

  void give(ReaderFigures& out) const {
    double sum = 0;
    std::size_t n_layers = 0;
    out.mass_of_worst_layer = 1;
    for (std::size_t layer = 0; layer < left_.size(); ++layer) {
      if (left_[layer].empty()) continue;
      double mean = 0;
      for (const double left : left_[layer]) mean += left;
      mean /= static_cast<double>(left_[layer].size());
      if (mean < out.mass_of_worst_layer) {
        out.mass_of_worst_layer = mean;
        out.worst_layer = layer;
      }
      sum += mean;
      ++n_layers;
    }
    const auto n = static_cast<double>(samples_.n());
    out.mass = sum / static_cast<double>(n_layers);
    out.tokens_read = static_cast<double>(read_.n_read) / n / static_cast<double>(n_lanes_);
    out.tokens_held = static_cast<double>(read_.n_held) / n / static_cast<double>(n_lanes_);
    out.bytes_read = static_cast<double>(read_.bytes_read) / n;
    out.bytes_held = static_cast<double>(read_.bytes_held) / n;
  }

 private:
  Result<void> take(std::size_t sample, std::size_t layer) {
    const runtime::LayerConfig& shape = model_.config().layers[layer];
    const std::size_t of_cache = model_.config().cache_layer(layer);
    const std::size_t n_heads = shape.attention.n_heads;
    const runtime::Workspace& work = scratch_.work();
    SATCHEL_TRY(model_.backend().copy(
        reinterpret_cast<std::byte*>(work.q),
        reinterpret_cast<const std::byte*>(samples_.queries(layer) + sample * shape.q_width()),
        shape.q_width() * sizeof(float)));
    SATCHEL_TRY(cache_.choose_pages(of_cache, work.q));
    const kernels::Batch batch{.positions = scratch_.positions() + sample,
                               .n_tokens = 1,
                               .position_min = positions_[sample],
                               .position_max = positions_[sample]};
    const runtime::LayerStep step{.layer = layer, .batch = batch, .work = work, .stop = stop_};
    const kernels::Sequence lanes = cache_.lanes(of_cache);
    SATCHEL_TRY(model_.graph().attend(step, {&lanes, 1}, runtime::Graph::Lse::wanted));
    SATCHEL_TRY(model_.synchronise());
    std::vector<float> all(n_heads), read(n_heads);
    SATCHEL_TRY(fetch(all, samples_.lse(layer) + sample * n_heads));
    SATCHEL_TRY(fetch(read, work.lse));
    for (const double left : runtime::attention_left(all, read, n_heads))
      left_[layer].push_back(left);
    if (sample == 0) n_lanes_ += shape.attention.n_kv_heads;
    const kvcache::LayerReading reading = cache_.inspector().reading(of_cache);
    read_.n_read += reading.n_read;
    read_.n_held += reading.n_held;
    read_.bytes_read += reading.bytes_read;
    read_.bytes_held += reading.bytes_held;
    return {};
  }

  Result<void> fetch(std::span<float> to, const float* from) {
    return model_.backend().download(std::as_writable_bytes(to),
                                     reinterpret_cast<const std::byte*>(from));
  }

  Model& model_;
  kvcache::Cache& cache_;
  const AttentionSamples& samples_;
  const runtime::PassScratch& scratch_;
  std::span<const std::int32_t> positions_;
  const std::stop_token& stop_;
  std::vector<std::vector<double>> left_;  // [n_layers]: of each head and query
  kvcache::LayerReading read_ = {};        // summed over queries and layers
  std::size_t n_lanes_ = 0;
};

// Of a cache that holds the whole text. What the table shows of it changes.
Result<void> measure_mass(Model& model, kvcache::Cache& cache, const ReaderText& text,
                          const std::stop_token& stop, ReaderFigures& out) {
  const std::size_t n = text.n_steps();
  SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease lease,
                     cache.arena().take_scratch(AttentionSamples::bytes(model.config(), n)));
  const AttentionSamples samples(model.config(), n, lease.data());
  SATCHEL_TRY(model.replay({.cache = cache,
                            .ids = text.ids.subspan(text.n_document),
                            .first = text.n_document,
                            .before = text.ids.first(text.n_document),
                            .stop = stop,
                            .samples = samples}));
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < samples.n(); ++i)
    positions.push_back(static_cast<std::int32_t>(text.n_document + samples.token(i)));
  SATCHEL_TRY_ASSIGN(const runtime::PassScratch scratch,
                     runtime::PassScratch::take(cache.arena(), model.config(),
                                                {.n_tokens = samples.n(), .n_chunk = samples.n()}));
  SATCHEL_TRY(cache.refresh_lanes());
  SATCHEL_TRY(model.backend().upload(reinterpret_cast<std::byte*>(scratch.positions()),
                                     std::as_bytes(std::span(positions))));
  ReadMass mass(model, cache, samples, scratch, positions, stop);
  for (std::size_t i = 0; i < samples.n(); ++i) {
    if (stop.stop_requested()) return stopped();
    SATCHEL_TRY(mass.take(i));
  }
  mass.give(out);
  return {};
}

}  // namespace

Result<kvcache::Recipe> reading_all(const kvcache::Recipe& recipe) {
  nlohmann::json all = nlohmann::json::parse(recipe.json());
  all["reader"] = "all";
  return kvcache::Recipe::parse(all.dump(), recipe.name());
}

Result<ReaderDocument> ReaderDocument::read(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                            const ReaderText& text, const std::stop_token& stop) {
  if (text.n_document == 0 || text.n_document >= text.ids.size() ||
      text.n_steps() > kReaderStepsMax)
    return Error{
        ErrorKind::invalid, "PARAM",
        "A document and 1 to " + std::to_string(kReaderStepsMax) + " tokens behind it are needed."};
  if (text.ids.size() > engine.config().context)
    return context_full(text.ids.size(), engine.config().context);
  ReaderDocument out(engine);
  SATCHEL_TRY_ASSIGN(out.cache_, open_cache(engine, recipe, text.ids.size()));
  const std::span<const std::int32_t> document = text.ids.first(text.n_document);
  std::vector<float> logits(engine.config().n_vocabulary);
  SATCHEL_TRY(read_document(engine, *out.cache_, document, stop, logits));
  SATCHEL_TRY(pack_document(engine, *out.cache_, document, TextForm::raw, stop));
  return out;
}

Result<void> ReaderDocument::step(kvcache::Cache& cache, std::int32_t id, std::span<float> logits,
                                  double& ms) {
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY(engine_->model().decode_step(cache, id, logits));
  ms = clock.steady_ms() - began;
  return {};
}

Result<ReaderFigures> ReaderDocument::compare(ReaderDocument& all, const ReaderText& text,
                                              const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(const auto selected, cache_->fork());
  SATCHEL_TRY_ASSIGN(const auto whole, all.cache_->fork());
  const std::size_t n_vocabulary = engine_->config().n_vocabulary, n = text.n_steps();
  std::vector<float> of_selected(n_vocabulary), of_whole(n_vocabulary);
  std::vector<double> times(n), times_all(n);
  ReaderFigures out{.agreement = 0};
  for (std::size_t i = 0; i < n; ++i) {
    if (stop.stop_requested()) return stopped();
    const std::int32_t id = text.ids[text.n_document + i];
    SATCHEL_TRY(step(*whole, id, of_whole, times_all[i]));
    SATCHEL_TRY(step(*selected, id, of_selected, times[i]));
    const runtime::Fidelity one = runtime::compare_logits(of_whole, of_selected, n_vocabulary);
    out.agreement += one.agreement / static_cast<double>(n);
    out.kl += one.kl / static_cast<double>(n);
  }
  out.step_ms = median(std::move(times));
  out.step_all_ms = median(std::move(times_all));
  SATCHEL_TRY(measure_mass(engine_->model(), *selected, text, stop, out));
  return out;
}

}  // namespace satchel::eval
