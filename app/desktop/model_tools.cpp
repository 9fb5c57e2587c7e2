#include "app/desktop/model_tools.h"

#include <utility>

#include "app/model_files/download.h"
#include "app/model_files/import_model.h"
#include "runtime/file_estimate.h"
#include "runtime/limits/presets.h"
#include "ui/model/engine_values.h"

namespace satchel::app {
namespace {

namespace fs = std::filesystem;

// One estimate for a preset; `details` gets what all of them share.
Result<ui::ModelFit> fitOf(const runtime::UnloadedModel& model, const QString& title,
                           const char* preset, ui::ModelDetails& details) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(preset));
  runtime::EstimateRequest request{.asks = {.expected_bytes = true, .tokens_that_fit = true}};
  SATCHEL_TRY_ASSIGN(runtime::FileEstimate found, estimate_file(model, recipe, request));
  details.weightBytes = found.estimate.weight_bytes;
  details.freeBytes = found.estimate.available_bytes;
  ui::ModelFit fit{.preset = title, .tokens = found.estimate.n_tokens_fit};
  fit.fits = found.estimate.weight_bytes <= found.estimate.available_bytes && fit.tokens > 0;
  if (!fit.fits) return fit;
  request.n_tokens = fit.tokens;
  SATCHEL_TRY_ASSIGN(found, estimate_file(model, recipe, request));
  fit.cacheBytes = found.estimate.expected_bytes;
  return fit;
}

Result<ui::ModelDetails> detailsOf(const runtime::UnloadedModel& model, std::stop_token stop) {
  ui::ModelDetails details;
  SATCHEL_TRY_ASSIGN(details.facts, runtime::file_facts(model.file));
  if (!details.facts.unsupported.empty()) return details;
  const std::pair<QString, const char*> presets[] = {{QObject::tr("Fits with Full"), "full"},
                                                     {QObject::tr("Fits with Compact"), "compact"}};
  for (const auto& [title, preset] : presets) {
    if (stop.stop_requested()) break;
    const Result<ui::ModelFit> fit = fitOf(model, title, preset, details);
    if (fit.ok())
      details.fits.append(*fit);
    else
      details.fitError = ui::textOf(fit.error().message);
  }
  return details;
}

}  // namespace

ui::ModelTools model_tools(const Paths& paths, const std::string& backend, std::size_t n_threads) {
  const auto progressOf = [](const ui::FetchFn& progress) {
    return [progress](const DownloadProgress& now) { progress({now.done, now.total}); };
  };
  ui::ModelTools tools;
  tools.look = [paths, backend, n_threads](const QString& path, std::stop_token stop) {
    return detailsOf(
        {.file = path.toStdString(),
         .profiles = paths.profiles,
         .backend = backend,
         .backend_options = {.n_threads = n_threads, .library_folders = paths.backends}},
        std::move(stop));
  };
  tools.import = [paths, progressOf](const QString& path, std::stop_token stop,
                                     const ui::FetchFn& progress) -> Result<QString> {
    SATCHEL_TRY_ASSIGN(const fs::path there, import_model(path.toStdString(), paths.models_dir,
                                                          stop, progressOf(progress)));
    return ui::textOf(there.string());
  };
  tools.download = [paths, progressOf](const QString& url, const QString& sha256,
                                       std::stop_token stop,
                                       const ui::FetchFn& progress) -> Result<QString> {
    SATCHEL_TRY_ASSIGN(const DownloadReport report, download({.url = url.toStdString(),
                                                              .folder = paths.models_dir,
                                                              .sha256 = sha256.toStdString()},
                                                             stop, progressOf(progress)));
    return ui::textOf(report.path.string());
  };
  return tools;
}

}  // namespace satchel::app
