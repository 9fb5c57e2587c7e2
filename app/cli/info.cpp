// `satchel info`: what a model file holds, and what this machine offers.
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/model_profile.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "kernels/base/main_memory.h"
#include "kernels/base/size_text.h"
#include "runtime/gguf/limits.h"
#include "runtime/gguf/reader.h"
#include "runtime/limits/precision_floor.h"

namespace satchel::app {
namespace {

std::string dims(const runtime::GgufTensor& tensor) {
  std::string text;
  for (std::size_t i = 0; i < tensor.n_dims; ++i)
    text += (i == 0 ? "" : " x ") + std::to_string(tensor.dims[i]);
  return text;
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width > text.size() ? width - text.size() : 1, ' ');
}

std::string of_parts(const runtime::GgufFile& file) {
  return file.n_parts() == 1 ? "" : " in " + count_text(file.n_parts()) + " shards";
}

// The model's profiles, shown after what the file itself says; all null for a model that cannot run
// here, with the reason.
Json show_profiles(const runtime::GgufFile& file, const std::string& fingerprint,
                   const Paths& paths, Console& console) {
  Json json{{"lane_table", nullptr},
            {"key_bases", nullptr},
            {"selectors", nullptr},
            {"precision_note", nullptr},
            {"refusal", nullptr}};
  const Result<runtime::ModelConfig> config = runtime::ModelConfig::from(file);
  if (!config.ok()) {
    if (!console.json())
      console.data("Satchel cannot run this model: " + config.error().message + "\n");
    json["refusal"] = config.error().message;
    return json;
  }
  const auto lanes = head_budgets_in_use(paths.profiles, fingerprint, *config);
  const auto keys = key_bases_in_use(paths.profiles, fingerprint, *config);
  for (const auto& damage : {lanes.found.damage, keys.found.damage})
    if (damage) warn_of_ignored_profile(*damage, console);
  std::string taught;
  json["selectors"] = Json::object();
  for (const kvcache::SelectorMethod method : kvcache::kSelectorMethods) {
    const auto selector = selector_in_use(paths.profiles, fingerprint, *config, method);
    if (selector.found.damage) warn_of_ignored_profile(*selector.found.damage, console);
    taught += "\nSelector weights, " + std::string(to_text(method)) + ": " + describe(selector);
    json["selectors"][std::string(to_text(method))] = to_json(selector);
  }
  const runtime::PrecisionFloor* const floor = runtime::precision_floor(config->architecture);
  if (floor != nullptr) json["precision_note"] = std::string(floor->why);
  if (!console.json())
    console.data((floor == nullptr ? "" : "Presets: " + std::string(floor->why) + "\n") +
                 "Head budgets: " + describe(lanes) + "\nKey bases: " + describe(keys) + taught +
                 "\n");
  json["lane_table"] = to_json(lanes);
  json["key_bases"] = to_json(keys);
  return json;
}

Result<void> model_file(const std::filesystem::path& path, const Paths& paths, Console& console) {
  SATCHEL_TRY_ASSIGN(const runtime::GgufFile file, runtime::GgufFile::open(path));
  Json metadata = Json::object(), tensors = Json::array();
  std::string text = path.string() + ": GGUF version " + std::to_string(file.version()) + ", " +
                     size_text(file.file_bytes()) + of_parts(file) + "\n\nMetadata\n";
  for (const runtime::GgufEntry& entry : file.metadata()) {
    metadata[std::string(entry.key)] = describe(entry.value);
    text += "  " + padded(entry.key, 42) + describe(entry.value) + "\n";
  }
  text += "\nTensors\n";
  std::size_t n_values = 0;
  for (const runtime::GgufTensor& tensor : file.tensors()) {
    n_values += tensor.n_values;
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type_name},
                       {"dims", std::vector<std::size_t>(tensor.dims.begin(),
                                                         tensor.dims.begin() + tensor.n_dims)},
                       {"bytes", tensor.bytes.size()}});
    text += "  " + padded(tensor.name, 32) + padded(tensor.type_name, 6) +
            padded(dims(tensor), 16) + size_text(tensor.bytes.size()) + "\n";
  }
  text +=
      "\n" + count_text(file.tensors().size()) + " tensors, " + count_text(n_values) + " values\n";
  if (!console.json()) console.data(text);
  // Takes reading the whole file.
  SATCHEL_TRY_ASSIGN(const std::string fingerprint, file.model_fingerprint());
  const Json profiles = show_profiles(file, fingerprint, paths, console);
  if (!console.json()) return {};
  Json json{{"schema", 1},
            {"path", path.string()},
            {"version", file.version()},
            {"bytes", file.file_bytes()},
            {"parts", file.n_parts()},
            {"fingerprint", fingerprint}};
  json.update(profiles);
  json.update({{"values", n_values}, {"metadata", metadata}, {"tensors", tensors}});
  console.document(json);
  return {};
}

// What "auto" takes here.
struct DeviceInUse {
  std::string text;
  Json json;
};
DeviceInUse device_in_use(const Paths& paths) {
  const auto chosen =
      kernels::choose_backend("auto", {.n_threads = 0, .library_folders = paths.backends});
  const auto error_json = [](const Error& error) {
    return Json{{"code", error.code}, {"message", error.message}};
  };
  Json json{{"backend", nullptr},
            {"device", nullptr},
            {"room_bytes", nullptr},
            {"why_not_gpu", nullptr},
            {"error", nullptr}};
  if (!chosen.ok()) {
    json["error"] = error_json(chosen.error());
    return {.text = "  none: " + chosen.error().message + "\n", .json = json};
  }
  const std::string name(chosen->backend->name()), device = chosen->backend->device();
  const kernels::AvailableMemory available = chosen->backend->available_memory();
  json["backend"] = name;
  json["device"] = device;
  json["room_bytes"] = available.most;
  std::string text = "  " + padded(name, 14) + device + "\n";
  if (available.taken_at_once)
    text += "  " + padded("", 14) +
            "memory for a model and its chats: " + size_text(available.most) + "\n";
  if (const auto& why = chosen->gpu_fallback_reason) {
    text += "  GPU not used: " + why->message + " [" + why->code + "]\n";
    json["why_not_gpu"] = error_json(*why);
  }
  return {.text = text, .json = json};
}

void machine(const Options& options, Console& console) {
  const Paths paths = standard_paths(options.store);
  if (!paths.notice.empty()) console.warning(paths.notice);
  const DeviceInUse used = device_in_use(paths);
  Json models = Json::array(), levels = Json::array();
  std::string text = "satchel " SATCHEL_VERSION
                     "\n\nDevice (used unless --backend selects another)\n" +
                     used.text + "\nCPU instruction sets (the best available one is used)\n";
  const auto names = kernels::cpu_level_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool present = i < kernels::cpu_levels_present();
    levels.push_back({{"name", names[i]}, {"present", present}});
    text += "  " + padded(names[i], 14) + (present ? "available" : "not available") + "\n";
  }
  text += "\nModels\n";
  for (const ModelFile& model : find_models(paths)) {
    models.push_back(
        {{"name", model.name}, {"path", model.path.string()}, {"bundled", model.bundled}});
    text += "  " + padded(model.name, 34) + model.path.string() + "\n";
  }
  text += "\nFolders\n  chats   " + paths.data_dir.string() + "\n  caches  " +
          paths.cache_dir.string() + "\n  models  " + paths.models_dir.string() +
          "\n\nFree memory: " + size_text(free_main_memory()) + "\n";
  if (console.json()) {
    console.document({{"schema", 1},
                      {"version", SATCHEL_VERSION},
                      {"in_use", used.json},
                      {"cpu_levels", levels},
                      {"models", models},
                      {"data_dir", paths.data_dir.string()},
                      {"cache_dir", paths.cache_dir.string()},
                      {"models_dir", paths.models_dir.string()},
                      {"memory_free_bytes", free_main_memory()}});
  } else {
    console.data(text);
  }
}

}  // namespace

void add_info(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<Options>();
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "info", "Show what a GGUF file contains or, without FILE, what this machine offers");
  command->add_option("file", *path, "GGUF file, or the start of a name in the model folder")
      ->type_name("FILE");
  add_output_options(*command, *options);
  add_store_option(*command, *options);
  const auto run = [path](const Options& given, Console& console) -> Result<void> {
    if (path->empty()) {
      machine(given, console);
      return {};
    }
    const Paths paths = standard_paths(given.store);
    SATCHEL_TRY_ASSIGN(const auto model, chosen_model(paths, *path));
    return model_file(model, paths, console);
  };
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
