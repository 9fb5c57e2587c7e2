// PredictedRows: a KvPrediction on a backend, as RowText::read_partly() takes it: each predicted
// layer's keys (before RoPE) and values are two products and their biases.
//   needs   a prediction that suits the model (KvPrediction::check()); engine and prediction
//           outlive it: a backend may read the matrices in place
//   memory  the maps as fp32; [n_tokens, width] of a chunk where hidden states are their input
//   errors  those of the backend
#pragma once

#include <memory>
#include <vector>

#include "app/eval/calibration/kv_prediction.h"
#include "app/eval/measure/row_text.h"

namespace satchel::eval {

class PredictedRows final : public PartialLayers {
 public:
  static Result<PredictedRows> open(runtime::Engine& engine, const KvPrediction& prediction);

  bool goes_through(std::size_t layer) const override { return prediction_->layers[layer].runs; }
  bool makes(std::size_t layer) const override { return prediction_->layers[layer].is_made(); }
  Result<void> make(std::size_t layer, const Source& from, float* k, float* v) override;

 private:
  struct Map {
    std::unique_ptr<kernels::Weight> matrix;
    kernels::Buffer bias;
  };
  PredictedRows(runtime::Engine& engine, const KvPrediction& prediction)
      : engine_(&engine), prediction_(&prediction) {}
  kernels::Backend& backend() const;
  Result<Map> load(const LinearMap& map);
  Result<const float*> normed(const Source& from);
  Result<void> apply(const Map& map, const float* x, std::size_t n_tokens, float* out);

  runtime::Engine* engine_;
  const KvPrediction* prediction_;
  std::vector<Map> keys_, values_;  // of all layers; empty where rows are not made
  kernels::Buffer ones_, normed_;   // [width], [tokens of a chunk, width]
};

}  // namespace satchel::eval
