// Fits a model's KvPrediction: texts go through the layers that run, then through all, and each
// predicted layer's keys and values are regressed on what its source made of the same tokens.
//   first    the first tokens of a text go through all layers, here and where the maps are used,
//            and are not among the rows: attention sinks are unlike all others, and cost nothing
//   ridge    kPredictionRidge, chosen
//   needs    exclusive use of the Engine
//   memory   an exact cache of kCalibrationTokens, twice; what the sources make of one text; the
//            sums of RidgeFit
//   errors   as calibration.h; those of RowText; PARAM: not so many layers can run
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/eval/calibration/calibration.h"
#include "app/eval/calibration/kv_prediction.h"
#include "kvcache/cache/cache.h"

namespace satchel::eval {

inline constexpr double kPredictionRidge = 1e-3;
// Of a text that is predicted.
inline constexpr std::size_t kPredictionFirstTokens = kvcache::kSinkTokens;

struct PredictionPlan {
  std::size_t n_run = 1;  // layers
  // Spread over the model, as in the paper; else the first ones.
  bool are_spread = false;
  KvPrediction::Input input = KvPrediction::Input::keys_values;
};

struct PredictionCalibration {
  KvPrediction prediction;
  // Of the variance over the texts, the mean over the predicted layers.
  double keys_explained = 0, values_explained = 0;
  std::vector<Calibration::Text> texts;
};
Result<PredictionCalibration> calibrate_prediction(const LaneSearch& search,
                                                   const PredictionPlan& plan);

// Which of n_layers run; the first always does.
std::vector<bool> layers_that_run(std::size_t n_layers, const PredictionPlan& plan);
// x [n, width], each row to a mean square of 1, as the backend's rms_norm has it.
void norm_rows(std::span<float> x, std::size_t width, float epsilon);

}  // namespace satchel::eval
