// How soon the first token comes, and what is lost, where a prompt's keys and values are predicted
// (KvPrediction), against reading all of it; for `satchel eval prediction`.
//   prompt   its first tokens (kPredictionFirstTokens) and its last one go through all layers; what
//            follows it is read token by token on what was predicted
//   rows     exact, fp16 (RowText)
//   needs, errors  as RowText; KV_PREDICTION: of another model
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "app/eval/calibration/kv_prediction.h"
#include "app/eval/measure/compared_tokens.h"
#include "runtime/engine.h"

namespace satchel::eval {

struct PredictedText {
  std::span<const std::int32_t> ids;
  std::size_t n_prompt = 0;  // of them; more than kPredictionFirstTokens + 1
};

struct PredictionFigures {
  double first_token_ms = 0, first_token_cpu_ms = 0;  // the second of all threads
  ComparedTokens compared;                            // behind the prompt
  double nll_sum = 0;                                 // of these, nats

  void add(const PredictionFigures& other);
};

// Of reading all; then of each prediction two: the prompt predicted, and, for comparison at the
// same cost, only its last part read, the layers' share of its tokens.
Result<std::vector<PredictionFigures>> measure_prediction(runtime::Engine& engine,
                                                          const PredictedText& text,
                                                          std::span<const KvPrediction> predictions,
                                                          std::stop_token stop);

}  // namespace satchel::eval
