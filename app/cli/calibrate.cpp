// `satchel calibrate`: finds the coordinates in which a model's keys take few bits, and keeps them.
#include <memory>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/cli/text_files.h"
#include "app/cli/workbench.h"
#include "runtime/profile/calibration.h"
#include "runtime/profile/key_bases_files.h"

namespace satchel::app {
namespace {

struct CalibrateOptions {
  Options common;
  std::vector<std::string> texts;  // --text; empty: those that ship
  std::string output;              // --output; "" is not given
};

Result<runtime::Calibration> calibrated(runtime::Engine& engine, const TextFiles& texts,
                                        Console& console) {
  const runtime::ProgressFn progress = console.progress();
  Result<runtime::Calibration> found = runtime::calibrate(
      {.engine = engine, .texts = texts.list, .stop = begin_interruptible(), .progress = progress});
  if (!found.ok() && found.error().kind == ErrorKind::cancelled)
    return Error{ErrorKind::cancelled, "STOPPED", "Stopped; no key bases were made."};
  console.end_progress();
  return found;
}

Json report(const runtime::Calibration& found, double took_ms) {
  Json texts = Json::array();
  for (const runtime::Calibration::Text& text : found.texts)
    texts.push_back({{"name", text.name}, {"tokens", text.n_tokens}});
  return Json{{"schema", 1},
              {"model", found.bases.model},
              {"name", found.bases.name},
              {"lanes", found.bases.lanes.size()},
              {"texts", texts},
              {"gain_bits", found.mean_gain()},
              {"gain_bits_of_lanes", found.gains},
              {"bytes", found.bases.bytes().size()},
              {"took_ms", took_ms}};
}

std::string report_text(const Json& report) {
  std::string read;
  for (const Json& text : report["texts"])
    read += (read.empty() ? "" : ", ") + text["name"].get<std::string>() + " (" +
            with_thousands(text["tokens"]) + " tokens)";
  return report["name"].get<std::string>() + ": " + with_thousands(report["lanes"]) +
         " lanes, from " + read + "\n  keys take " + format_fixed(report["gain_bits"], 2) +
         " bits per value less in their own coordinates than spread evenly, at equal error (mean "
         "over the lanes)\n";
}

Result<void> run(const CalibrateOptions& options, Console& console) {
  TextFiles texts;
  SATCHEL_TRY(read_text_files(options.texts, texts));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(const runtime::Calibration found, calibrated(*engine, texts, console));
  const double took_ms = clock.steady_ms() - began;
  const Result<void> kept = options.output.empty()
                                ? engine->set_key_bases(found.bases)
                                : runtime::write_key_bases(options.output, found.bases);
  const Json document = report(found, took_ms);
  // What was found is shown, also where it could not be kept.
  if (!console.json()) {
    console.data(report_text(document));
  } else if (kept.ok()) {
    console.document(document);
  }
  SATCHEL_TRY(kept);
  const auto own = runtime::key_bases_file(standard_paths({}).lane_tables, engine->fingerprint());
  console.note("Made in " + format_seconds(took_ms) + ", " + format_bytes(document["bytes"]) +
               ", kept in \"" + (options.output.empty() ? own.string() : options.output) + "\".");
  if (options.output.empty())
    console.note(
        "They are used from now on, before those that come with Satchel; remove the file to undo "
        "that.");
  return {};
}

}  // namespace

void add_calibrate(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = app.add_subcommand(
      "calibrate", "Find the coordinates in which a model's keys take few bits, and keep them");
  command
      ->add_option(
          "--text", options->texts,
          "A text to find them with, instead of those that come with Satchel; may be given "
          "several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_output_file(*command, options->output,
                  "Write them here and do not use them; default: kept for this model");
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  command->callback([=] {
    choose([=] {
      Console console(options->common.json, options->common.quiet);
      const Result<void> done = run(*options, console);
      return done.ok() ? int{kExitOk} : console.fail(done.error());
    });
  });
}

}  // namespace satchel::app
