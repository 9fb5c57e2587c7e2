// `satchel download`: a model file by its address, into the model folder.
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/model_files/download.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

constexpr std::uint64_t kStepBytes = 1'000'000;  // between two looks at the terminal

struct DownloadOptions {
  Options common;
  std::string url, sha256;
};

Result<void> run_download(const DownloadOptions& options, Console& console) {
  const Paths paths = standard_paths({});
  std::uint64_t told = 0;
  const DownloadFn progress = [&console, &told](const DownloadProgress& now) {
    if (now.done < told + kStepBytes && now.done != now.total) return;
    told = now.done;
    console.status("Downloading: " + size_text(now.done) +
                   (now.total > 0 ? " of " + size_text(now.total) : ""));
  };
  const auto got =
      download({.url = options.url, .folder = paths.models_dir, .sha256 = options.sha256},
               begin_interruptible(), progress);
  console.end_progress();
  if (!got.ok()) return got.error();
  if (console.json())
    console.document({{"schema", 1},
                      {"file", got->path.string()},
                      {"bytes", got->bytes},
                      {"bytes_resumed", got->n_resumed},
                      {"sha256", got->sha256}});
  console.note("Saved \"" + got->path.string() + "\" (" + size_text(got->bytes) + "), SHA-256 " +
               got->sha256 +
               (options.sha256.empty() ? ". It was not checked: --sha256 does." : ", as given."));
  return {};
}

}  // namespace

void add_download(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<DownloadOptions>();
  CLI::App* command =
      app.add_subcommand("download", "Fetch a model file by its address into the model folder");
  add_output_options(*command, options->common);
  command->add_option("url", options->url, "https address of a .gguf file")
      ->type_name("URL")
      ->required();
  command
      ->add_option("--sha256", options->sha256,
                   "The file's SHA-256; a file that has another is deleted")
      ->type_name("HEX");
  on_run(*command, choose, options, run_download);
}

}  // namespace satchel::app
