// `satchel calibrate`: finds the coordinates in which a model's keys take few bits, and keeps them.
#include <memory>
#include <optional>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/eval/calibration/calibration.h"
#include "app/eval/commands/atomic_file.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/text_files.h"
#include "runtime/profile/profile_files.h"

namespace satchel::app {
namespace {

struct CalibrateOptions {
  Options common;
  std::vector<std::string> texts;  // --text; empty: those that ship
  std::string output;              // --output; "" is not given
  bool values = false;             // --values
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

Json report(const Found& all, double took_ms) {
  const eval::Calibration& found = all.calibration;
  const bool has_gains = !found.gains.empty();
  Json texts = Json::array();
  for (const eval::Calibration::Text& text : found.texts)
    texts.push_back({{"name", text.name}, {"tokens", text.n_tokens}});
  return Json{
      {"schema", 1},
      {"model", found.bases.model},
      {"name", found.bases.name},
      {"lanes", found.bases.lanes.size()},
      {"texts", texts},
      {"gain_bits", has_gains ? Json(found.mean_gain()) : Json(nullptr)},
      {"gain_bits_of_lanes", found.gains},
      {"value_share_of_fifth", all.share_of_fifth ? Json(*all.share_of_fifth) : Json(nullptr)},
      {"bytes", found.bases.bytes().size()},
      {"took_ms", took_ms}};
}

std::string report_text(const Json& report) {
  std::string read;
  for (const Json& text : report["texts"])
    read += (read.empty() ? "" : ", ") + text["name"].get<std::string>() + " (" +
            with_thousands(text["tokens"]) + " tokens)";
  std::string text = report["name"].get<std::string>() + ": " + with_thousands(report["lanes"]) +
                     " KV heads, calibrated on " + read + "\n";
  if (!report["gain_bits"].is_null())
    text += "  keys need " + format_fixed(report["gain_bits"], 2) +
            " fewer bits per value in these bases than with evenly spread bits, at equal error "
            "(mean over the heads)\n";
  if (!report["value_share_of_fifth"].is_null())
    text += "  a fifth of the value coordinates hold " +
            format_fixed(100 * report["value_share_of_fifth"].get<double>(), 0) +
            " % of the values' variance (mean over the heads)\n";
  return text;
}

Result<void> run(const CalibrateOptions& options, Console& console) {
  TextFiles texts;
  SATCHEL_TRY(read_text_files(options.texts, texts));
  SATCHEL_TRY_ASSIGN(const auto file, AtomicFile::open_if_named(options.output));
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
  console.note("Took " + format_seconds(took_ms) + ". Saved " + format_bytes(document["bytes"]) +
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
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
