#include "app/eval/measure/predicted_rows.h"

#include "runtime/engine_state.h"

namespace satchel::eval {

kernels::Backend& PredictedRows::backend() const {
  return *engine_->state().backend;
}

Result<PredictedRows::Map> PredictedRows::load(const LinearMap& map) {
  Map out;
  if (map.n_out == 0) return out;
  SATCHEL_TRY_ASSIGN(out.matrix,
                     backend().load_weight({.type = kernels::WeightType::f32,
                                            .n_out = map.n_out,
                                            .n_in = map.n_in,
                                            .bytes = std::as_bytes(std::span(map.matrix))}));
  SATCHEL_TRY_ASSIGN(out.bias, backend().allocate(map.bias.size() * sizeof(float)));
  SATCHEL_TRY(backend().upload(out.bias.data(), std::as_bytes(std::span(map.bias))));
  return out;
}

Result<PredictedRows> PredictedRows::open(runtime::Engine& engine, const KvPrediction& prediction) {
  PredictedRows out(engine, prediction);
  for (const KvPrediction::Layer& layer : prediction.layers) {
    SATCHEL_TRY_ASSIGN(out.keys_.emplace_back(), out.load(layer.k));
    SATCHEL_TRY_ASSIGN(out.values_.emplace_back(), out.load(layer.v));
  }
  const std::vector<float> ones(engine.config().width, 1);
  SATCHEL_TRY_ASSIGN(out.ones_, out.backend().allocate(ones.size() * sizeof(float)));
  SATCHEL_TRY(out.backend().upload(out.ones_.data(), std::as_bytes(std::span(ones))));
  return out;
}

Result<const float*> PredictedRows::normed(const Source& from) {
  const runtime::ModelConfig& config = engine_->config();
  const std::size_t bytes = from.n_tokens * config.width * sizeof(float);
  if (normed_.size() < bytes) {
    SATCHEL_TRY(backend().finish());  // queued work may read the old one
    SATCHEL_TRY_ASSIGN(normed_, backend().allocate(bytes));
  }
  auto* out = reinterpret_cast<float*>(normed_.data());
  SATCHEL_TRY(backend().rms_norm(from.x, reinterpret_cast<const float*>(ones_.data()),
                                 from.n_tokens, config.width, config.norm_epsilon, out));
  return out;
}

Result<void> PredictedRows::apply(const Map& map, const float* x, std::size_t n_tokens,
                                  float* out) {
  const kernels::Backend::Projection product{
      .weight = map.matrix.get(),
      .out = out,
      .bias = reinterpret_cast<const float*>(map.bias.data())};
  return backend().project(x, n_tokens, {&product, 1});
}

Result<void> PredictedRows::make(std::size_t layer, const Source& from, float* k, float* v) {
  const float *of_keys = from.k, *of_values = from.v;
  if (prediction_->input == KvPrediction::Input::hidden) {
    SATCHEL_TRY_ASSIGN(of_keys, normed(from));
    of_values = of_keys;
  }
  SATCHEL_TRY(apply(keys_[layer], of_keys, from.n_tokens, k));
  return apply(values_[layer], of_values, from.n_tokens, v);
}

}  // namespace satchel::eval
