#include "app/eval/measure/prediction_meter.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "app/eval/calibration/prediction_calibration.h"
#include "app/eval/measure/passes.h"
#include "app/eval/measure/predicted_rows.h"
#include "app/eval/measure/row_text.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/clock.h"
#include "runtime/fidelity/fidelity.h"

namespace satchel::eval {
namespace {

// Ways to come to the logits behind a prompt, the text empty before.
using ReadPrompt = std::function<Result<std::vector<float>>(RowText& text)>;

class PredictionMeter {
 public:
  PredictionMeter(runtime::Engine& engine, const PredictedText& of, RowText text)
      : engine_(engine), of_(of), text_(std::move(text)) {}

  // The first one measured is what the others are compared with.
  Result<PredictionFigures> measure(const ReadPrompt& read) {
    PredictionFigures out;
    text_.truncate(0);
    const SystemClock clock;
    const double began = clock.steady_ms(), began_cpu = cpu_ms();
    SATCHEL_TRY_ASSIGN(std::vector<float> logits, read(text_));
    out.first_token_ms = clock.steady_ms() - began;
    out.first_token_cpu_ms = cpu_ms() - began_cpu;
    const bool is_exact = exact_.empty();
    const std::size_t n_vocabulary = engine_.config().n_vocabulary;
    for (std::size_t i = of_.n_prompt; i < of_.ids.size(); ++i) {
      if (is_exact) exact_.push_back(logits);
      out.compared.add(runtime::compare_logits(exact_[i - of_.n_prompt], logits, n_vocabulary));
      out.nll_sum += nll(logits, of_.ids[i]);
      if (i + 1 < of_.ids.size()) {
        SATCHEL_TRY_ASSIGN(logits, text_.read(of_.ids.subspan(i, 1), 1));
      }
    }
    return out;
  }

 private:
  runtime::Engine& engine_;
  const PredictedText& of_;
  RowText text_;
  std::vector<std::vector<float>> exact_;  // of each token behind the prompt
};

}  // namespace

void PredictionFigures::add(const PredictionFigures& other) {
  first_token_ms += other.first_token_ms;
  first_token_cpu_ms += other.first_token_cpu_ms;
  compared.add(other.compared);
  nll_sum += other.nll_sum;
}

Result<std::vector<PredictionFigures>> measure_prediction(runtime::Engine& engine,
                                                          const PredictedText& text,
                                                          std::span<const KvPrediction> predictions,
                                                          std::stop_token stop) {
  if (text.n_prompt < kPredictionFirstTokens + 2 || text.n_prompt >= text.ids.size())
    return Error{ErrorKind::invalid, "PARAM",
                 "The prompt must be shorter than the text, and have at least " +
                     std::to_string(kPredictionFirstTokens + 2) + " tokens."};
  const std::span<const std::int32_t> prompt = text.ids.first(text.n_prompt);
  SATCHEL_TRY_ASSIGN(RowText rows, RowText::open(engine, text.ids.size(), std::move(stop)));
  PredictionMeter meter(engine, text, std::move(rows));
  std::vector<PredictionFigures> out;
  SATCHEL_TRY_ASSIGN(out.emplace_back(),
                     meter.measure([&](RowText& to) { return to.read(prompt, 1); }));
  for (const KvPrediction& prediction : predictions) {
    SATCHEL_TRY(prediction.check(engine.config(), engine.fingerprint()));
    SATCHEL_TRY_ASSIGN(PredictedRows predicted, PredictedRows::open(engine, prediction));
    const ReadPrompt predict = [&](RowText& to) -> Result<std::vector<float>> {
      SATCHEL_TRY(to.read(prompt.first(kPredictionFirstTokens), 0));
      SATCHEL_TRY(to.read_partly(
          prompt.subspan(kPredictionFirstTokens, prompt.size() - kPredictionFirstTokens - 1),
          predicted));
      return to.read(prompt.last(1), 1);
    };
    SATCHEL_TRY_ASSIGN(out.emplace_back(), meter.measure(predict));
    const std::size_t n_last =
        std::max<std::size_t>(1, prompt.size() * prediction.n_run() / prediction.layers.size());
    SATCHEL_TRY_ASSIGN(out.emplace_back(),
                       meter.measure([&](RowText& to) { return to.read(prompt.last(n_last), 1); }));
  }
  return out;
}

}  // namespace satchel::eval
