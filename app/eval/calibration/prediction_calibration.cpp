#include "app/eval/calibration/prediction_calibration.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/eval/calibration/ridge_fit.h"
#include "app/eval/lane_rules/seen_layer.h"
#include "app/eval/measure/row_text.h"
#include "runtime/model/model.h"

namespace satchel::eval {
namespace {

using Input = KvPrediction::Input;

struct InputRows {
  std::vector<float> k, v;  // [n, inputs]: what keys and values are predicted from
};

// What each source makes of a text. The rows that it leaves of other layers are never read.
class SourceRows final : public PartialLayers {
 public:
  SourceRows(runtime::Engine& engine, const KvPrediction& plan) : engine_(engine), plan_(plan) {}

  bool goes_through(std::size_t layer) const override { return plan_.layers[layer].runs; }
  // Asked once for each source: for the first layer that is predicted from it.
  bool makes(std::size_t layer) const override {
    if (!plan_.layers[layer].is_made()) return false;
    return plan_.layers[layer].runs || !plan_.layers[layer - 1].is_made();
  }
  Result<void> make(std::size_t, const Source& from, float*, float*) override {
    const runtime::ModelConfig& config = engine_.config();
    InputRows& rows = rows_[from.layer];
    if (plan_.input == Input::keys_values) {
      const std::size_t width = config.layers[from.layer].kv_width();
      SATCHEL_TRY(append(rows.k, from.k, from.n_tokens * width));
      return append(rows.v, from.v, from.n_tokens * width);
    }
    const std::size_t at = rows.k.size();
    SATCHEL_TRY(append(rows.k, from.x, from.n_tokens * config.width));
    norm_rows(std::span(rows.k).subspan(at), config.width, config.norm_epsilon);
    rows.v = rows.k;
    return {};
  }
  const std::map<std::size_t, InputRows>& all() const { return rows_; }

 private:
  Result<void> append(std::vector<float>& to, const float* from, std::size_t n) {
    return append_rows(engine_.model().backend(), to, from, n);
  }

  runtime::Engine& engine_;
  const KvPrediction& plan_;
  std::map<std::size_t, InputRows> rows_;
};

// The fits of all that is predicted from one layer; output i is of layers[i].
struct SourceFit {
  std::vector<std::size_t> layers;
  RidgeFit keys, values;
};

class PredictionFit {
 public:
  PredictionFit(const LaneSearch& search, KvPrediction plan)
      : search_(search), plan_(std::move(plan)) {
    const runtime::ModelConfig& config = search.engine.config();
    std::map<std::size_t, std::vector<std::size_t>> of_source;
    for (std::size_t i = 0; i < plan_.layers.size(); ++i)
      if (plan_.layers[i].is_made()) of_source[plan_.source_of(i)].push_back(i);
    for (auto& [source, layers] : of_source) {
      std::vector<std::size_t> n_out;
      for (const std::size_t i : layers) n_out.push_back(config.layers[i].kv_width());
      const std::size_t n_in =
          plan_.input == Input::hidden ? config.width : config.layers[source].kv_width();
      fits_.emplace(source, SourceFit{.layers = std::move(layers),
                                      .keys = RidgeFit(n_in, n_out),
                                      .values = RidgeFit(n_in, n_out)});
    }
  }

  Result<void> add(std::span<const std::int32_t> ids, std::size_t part, std::size_t n_parts) {
    SATCHEL_TRY_ASSIGN(RowText text, RowText::open(search_.engine, ids.size(), search_.stop));
    SourceRows sources(search_.engine, plan_);
    SATCHEL_TRY(text.read(ids.first(kPredictionFirstTokens), 0));
    SATCHEL_TRY(text.read_partly(ids.subspan(kPredictionFirstTokens), sources));
    for (const auto& [source, rows] : sources.all()) {
      fits_.at(source).keys.add_inputs(rows.k);
      fits_.at(source).values.add_inputs(rows.v);
    }
    std::size_t layer = 0;
    const SeeLayer see = [&](const SeenLayer& seen) { learn(layer++, seen, sources); };
    return read_seen(search_, ids, part, n_parts, see, SeenLayers::all);
  }

  Result<PredictionCalibration> solve() {
    PredictionCalibration out;
    std::size_t n_made = 0;
    for (const auto& [source, fit] : fits_) {
      std::vector<RidgeFit::Solution> keys = fit.keys.solve(kPredictionRidge),
                                      values = fit.values.solve(kPredictionRidge);
      for (std::size_t i = 0; i < fit.layers.size(); ++i, ++n_made) {
        plan_.layers[fit.layers[i]].k = std::move(keys[i].map);
        plan_.layers[fit.layers[i]].v = std::move(values[i].map);
        out.keys_explained += keys[i].explained;
        out.values_explained += values[i].explained;
      }
    }
    out.keys_explained /= static_cast<double>(n_made);
    out.values_explained /= static_cast<double>(n_made);
    SATCHEL_TRY_ASSIGN(out.prediction, KvPrediction::make(std::move(plan_)));
    return out;
  }

 private:
  void learn(std::size_t layer, const SeenLayer& seen, const SourceRows& sources) {
    if (!plan_.layers[layer].is_made()) return;
    const std::size_t source = plan_.source_of(layer);
    SourceFit& fit = fits_.at(source);
    const InputRows& rows = sources.all().at(source);
    const auto which =
        static_cast<std::size_t>(std::ranges::find(fit.layers, layer) - fit.layers.begin());
    const std::size_t first = kPredictionFirstTokens * seen.shape.n_kv_heads * seen.shape.head_dim;
    fit.keys.add_outputs(which, rows.k, std::span(seen.pre_rope_k).subspan(first));
    fit.values.add_outputs(which, rows.v, std::span(seen.v).subspan(first));
  }

  const LaneSearch& search_;
  KvPrediction plan_;  // its maps have sizes only, until they are found
  std::map<std::size_t, SourceFit> fits_;
};

}  // namespace

std::vector<bool> layers_that_run(std::size_t n_layers, const PredictionPlan& plan) {
  std::vector<bool> out(n_layers);
  for (std::size_t i = 0; i < plan.n_run; ++i)
    out[plan.are_spread ? i * n_layers / plan.n_run : i] = true;
  return out;
}

void norm_rows(std::span<float> x, std::size_t width, float epsilon) {
  for (std::size_t at = 0; at < x.size(); at += width) {
    double squares = 0;
    for (std::size_t i = at; i < at + width; ++i) squares += double(x[i]) * double(x[i]);
    const double factor = 1 / std::sqrt(squares / double(width) + double(epsilon));
    for (std::size_t i = at; i < at + width; ++i) x[i] = static_cast<float>(x[i] * factor);
  }
}

Result<PredictionCalibration> calibrate_prediction(const LaneSearch& search,
                                                   const PredictionPlan& plan) {
  const runtime::ModelConfig& config = search.engine.config();
  const std::size_t n_layers = config.n_layers();
  if (plan.n_run == 0 || plan.n_run >= n_layers)
    return Error{ErrorKind::invalid, "PARAM",
                 "This model has " + std::to_string(n_layers) + " layers; 1 to " +
                     std::to_string(n_layers - 1) + " of them can predict the others."};
  SATCHEL_TRY_ASSIGN(const std::vector<CalibrationText> texts, calibration_texts(search));
  KvPrediction wanted{.model = search.engine.fingerprint(),
                      .name = config.name,
                      .source = "",
                      .input = plan.input,
                      .layers = {}};
  const std::vector<bool> runs = layers_that_run(n_layers, plan);
  const auto gap = static_cast<std::size_t>(std::ranges::find(runs, false) - runs.begin());
  for (std::size_t i = 0; i < n_layers; ++i) {
    wanted.layers.push_back({.runs = runs[i]});
    if (i >= gap) wanted.layers[i].k.n_out = config.layers[i].kv_width();
  }
  for (const CalibrationText& text : texts)
    wanted.source += (wanted.source.empty() ? "" : " ") + text.name;
  PredictionFit fit(search, std::move(wanted));
  for (std::size_t i = 0; i < texts.size(); ++i)
    SATCHEL_TRY(fit.add(texts[i].ids, i, texts.size()));
  SATCHEL_TRY_ASSIGN(PredictionCalibration out, fit.solve());
  for (const CalibrationText& text : texts) out.texts.push_back({text.name, text.ids.size()});
  return out;
}

}  // namespace satchel::eval
