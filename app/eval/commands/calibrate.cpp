// `satchel calibrate`: finds the coordinates in which a model's keys take few bits, and keeps them;
// or the maps of KV Prediction.
#include <memory>
#include <optional>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/eval/calibration/calibration.h"
#include "app/eval/calibration/prediction_calibration.h"
#include "app/eval/commands/atomic_file.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/text_files.h"
#include "kernels/base/size_text.h"
#include "runtime/profile/profile_files.h"

namespace satchel::app {
namespace {

struct CalibrateOptions {
  Options common;
  std::vector<std::string> texts;                  // --text; empty: those that ship
  std::string output;                              // --output; "" is not given
  bool values = false;                             // --values
  eval::PredictionPlan prediction = {.n_run = 0};  // --kv-prediction; n_run 0: not given
  bool from_hidden = false;                        // --from-hidden
};

// Without values their share is not there.
struct Found {
  eval::Calibration calibration;
  std::optional<double> share_of_fifth = std::nullopt;
};

Result<Found> find(const eval::LaneSearch& search, bool with_values) {
  if (!with_values) {
    SATCHEL_TRY_ASSIGN(eval::Calibration found, eval::calibrate(search));
    return Found{.calibration = std::move(found)};
  }
  SATCHEL_TRY_ASSIGN(eval::ValueCalibration found, eval::calibrate_values(search));
  return Found{.calibration = std::move(found.with), .share_of_fifth = found.share_of_fifth};
}

Result<Found> calibrated(runtime::Engine& engine, const TextFiles& texts, bool with_values,
                         Console& console) {
  const runtime::ProgressFn progress = console.progress();
  Result<Found> found = find(
      {.engine = engine, .texts = texts.list, .stop = begin_interruptible(), .progress = progress},
      with_values);
  if (!found.ok() && found.error().kind == ErrorKind::cancelled)
    return Error{ErrorKind::cancelled, "STOPPED", "Stopped. No key bases were made."};
  console.end_progress();
  return found;
}

Json texts_of(std::span<const eval::Calibration::Text> texts) {
  Json out = Json::array();
  for (const eval::Calibration::Text& text : texts)
    out.push_back({{"name", text.name}, {"tokens", text.n_tokens}});
  return out;
}

// "notes (1,300 tokens), story (1,200 tokens)"
std::string listed(const Json& texts) {
  std::string out;
  for (const Json& text : texts)
    out += (out.empty() ? "" : ", ") + text["name"].get<std::string>() + " (" +
           count_text(text["tokens"]) + " tokens)";
  return out;
}

Json report(const Found& all, double took_ms) {
  const eval::Calibration& found = all.calibration;
  const bool has_gains = !found.gains.empty();
  return Json{
      {"schema", 1},
      {"model", found.bases.model},
      {"name", found.bases.name},
      {"lanes", found.bases.lanes.size()},
      {"texts", texts_of(found.texts)},
      {"gain_bits", has_gains ? Json(found.mean_gain()) : Json(nullptr)},
      {"gain_bits_of_lanes", found.gains},
      {"value_share_of_fifth", all.share_of_fifth ? Json(*all.share_of_fifth) : Json(nullptr)},
      {"bytes", found.bases.bytes().size()},
      {"took_ms", took_ms}};
}

std::string report_text(const Json& report) {
  std::string text = report["name"].get<std::string>() + ": " + count_text(report["lanes"]) +
                     " KV heads, calibrated on " + listed(report["texts"]) + "\n";
  if (!report["gain_bits"].is_null())
    text += "  keys need " + fixed_text(report["gain_bits"], 2) +
            " fewer bits per value in these bases than with evenly spread bits, at equal error "
            "(mean over the heads)\n";
  if (!report["value_share_of_fifth"].is_null())
    text += "  a fifth of the value coordinates hold " +
            fixed_text(100 * report["value_share_of_fifth"].get<double>(), 0) +
            " % of the values' variance (mean over the heads)\n";
  return text;
}

Result<void> predict(const CalibrateOptions& options, const TextFiles& texts, AtomicFile& file,
                     Console& console) {
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  const runtime::ProgressFn progress = console.progress();
  eval::PredictionPlan plan = options.prediction;
  if (options.from_hidden) plan.input = eval::KvPrediction::Input::hidden;
  const auto found = eval::calibrate_prediction(
      {.engine = *engine, .texts = texts.list, .stop = begin_interruptible(), .progress = progress},
      plan);
  console.end_progress();
  if (!found.ok() && found.error().kind == ErrorKind::cancelled)
    return Error{ErrorKind::cancelled, "STOPPED", "Stopped. No maps were made."};
  SATCHEL_TRY(found);
  const std::string bytes = found->prediction.bytes();
  file.add(bytes);
  SATCHEL_TRY(file.finish());
  const Json document = {{"schema", 1},
                         {"model", found->prediction.model},
                         {"name", found->prediction.name},
                         {"layers_run", found->prediction.n_run()},
                         {"layers", found->prediction.layers.size()},
                         {"texts", texts_of(found->texts)},
                         {"keys_explained", found->keys_explained},
                         {"values_explained", found->values_explained},
                         {"bytes", bytes.size()}};
  if (console.json()) {
    console.document(document);
  } else {
    console.data(document["name"].get<std::string>() + ": " +
                 std::to_string(found->prediction.n_run()) + " of " +
                 std::to_string(found->prediction.layers.size()) +
                 " layers predict the others, fitted on " + listed(document["texts"]) +
                 "\n  of the variance in these texts the maps explain " +
                 format_percent(found->keys_explained) + " of the keys and " +
                 format_percent(found->values_explained) + " of the values\n");
  }
  console.note("Saved " + size_text(bytes.size()) + " to \"" + options.output +
               "\". Only \"satchel eval prediction\" uses the file.");
  return {};
}

Result<void> run(const CalibrateOptions& options, Console& console) {
  TextFiles texts;
  SATCHEL_TRY(read_text_files(options.texts, texts));
  SATCHEL_TRY_ASSIGN(const auto file, AtomicFile::open_if_named(options.output));
  if (options.prediction.n_run > 0) return predict(options, texts, *file, console);
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(const Found found, calibrated(*engine, texts, options.values, console));
  const kvcache::KeyBases& bases = found.calibration.bases;
  const double took_ms = clock.steady_ms() - began;
  if (file != nullptr) file->add(bases.bytes());
  const Result<void> kept = file != nullptr ? file->finish() : engine->set_key_bases(bases);
  const Json document = report(found, took_ms);
  // What was found is shown, also where it could not be kept.
  if (!console.json()) {
    console.data(report_text(document));
  } else if (kept.ok()) {
    console.document(document);
  }
  SATCHEL_TRY(kept);
  const auto own = runtime::key_bases_file(standard_paths({}).profiles, engine->fingerprint());
  console.note("Took " + duration_text(took_ms) + ". Saved " + size_text(document["bytes"]) +
               " to \"" + (options.output.empty() ? own.string() : options.output) + "\".");
  if (options.output.empty())
    console.note(
        "From now on, Satchel uses these key bases for this model. Delete the file to undo this.");
  return {};
}

}  // namespace

void add_calibrate(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = app.add_subcommand(
      "calibrate", "Compute key bases for a model, so that its keys need fewer bits");
  command
      ->add_option("--text", options->texts,
                   "Text file to calibrate on instead of the included texts; can be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_flag("--values", options->values,
                    "Also compute value bases, for the codec cskv; key bases that the model has "
                    "stay as they are");
  add_output_file(*command, options->output,
                  "Write the key bases to this file instead of using them for this model");
  command
      ->add_option("--kv-prediction", options->prediction.n_run,
                   "Instead, fit maps that predict the keys and values of all layers from so many "
                   "layers (KV Prediction), for \"satchel eval prediction\"")
      ->type_name("LAYERS")
      ->check(whole_number(1))
      ->needs(command->get_option("--output"))
      ->excludes(command->get_option("--values"));
  CLI::Option* predicts = command->get_option("--kv-prediction");
  command
      ->add_flag("--spread", options->prediction.are_spread,
                 "These layers are spread over the model, as in the paper, instead of the first")
      ->needs(predicts);
  command
      ->add_flag("--from-hidden", options->from_hidden,
                 "Predict from hidden states instead of keys and values")
      ->needs(predicts);
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
