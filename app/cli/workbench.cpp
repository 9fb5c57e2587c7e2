#include "app/cli/workbench.h"

#include <filesystem>
#include <system_error>

#include "app/cli/model_profile.h"
#include "app/number_options.h"
#include "app/store_key.h"
#include "app/store_options.h"
#include "kernels/base/size_text.h"
#include "runtime/limits/presets.h"
#include "storage/far/far_file.h"
#include "storage/folder/folder.h"

namespace satchel::app {

Result<kvcache::Recipe> chosen_recipe(const Options& options, std::string_view fallback) {
  const std::string_view name =
      options.recipe.empty() ? fallback : std::string_view(options.recipe);
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, runtime::resolve_recipe(name));
  if (options.keep > 0) return recipe.with_keep(options.keep);
  return recipe;
}

Result<std::size_t> chosen_budget(const Options& options) {
  if (options.budget.empty()) return std::size_t{0};
  return parse_bytes(options.budget);
}

namespace {

std::string names_of(const std::vector<ModelFile>& models) {
  std::string names;
  for (const ModelFile& model : models) names += (names.empty() ? "" : ", ") + model.name;
  return names;
}

// What a name could have begun.
std::string known_models(const Paths& paths) {
  const std::string names = names_of(find_models(paths));
  return names.empty() ? "" : " Available models: " + names + ".";
}

}  // namespace

Result<std::filesystem::path> chosen_model(const Paths& paths, const std::string& given) {
  const std::vector<ModelFile> models = models_named(paths, given);
  if (models.size() < 2) return resolve_model(paths, given);
  return Error{
      ErrorKind::invalid, "PARAM",
      "\"" + given + "\" matches several models: " + names_of(models) + ". Type more of the name."};
}

void tell_what_is_missing(const runtime::Engine& engine, Console& console) {
  const std::optional<Error>& why = engine.gpu_fallback_reason();
  if (why && kernels::shows_fallback_reason(*why, kernels::has_nvidia_card())) {
    console.end_progress();
    console.note("Running on the CPU, not the GPU: " + why->message + " [" + why->code + "]");
  }
  for (const Error& damage : engine.profile_damage()) {
    console.end_progress();
    warn_of_ignored_profile(damage, console);
  }
}

runtime::EngineOptions engine_options(const Options& options, const Paths& paths) {
  runtime::EngineOptions engine;
  engine.backend = options.backend;
  engine.n_threads = options.threads;
  engine.cpu_level = options.cpu_level;
  engine.activation_bits = options.activations;
  engine.chat_template = options.chat_template;
  engine.backend_folders = paths.backends;
  engine.profiles = paths.profiles;
  if (options.on_disk)
    engine.open_far = [folder = paths.cache_dir]() -> Result<std::unique_ptr<kvcache::FarStore>> {
      SATCHEL_TRY(storage::make_private_folder_of(folder / "any"));
      SATCHEL_TRY_ASSIGN(auto file, storage::FarFile::open(folder));
      return std::unique_ptr<kvcache::FarStore>(std::move(file));
    };
  return engine;
}

Error explain_not_opened(const Error& why, const Paths& paths, const std::filesystem::path& model) {
  if (why.code == "MODEL_NOT_FOUND") return {why.kind, why.code, why.message + known_models(paths)};
  if (why.code != "MODEL_ARCH") return why;
  return {
      why.kind, why.code,
      "\"" + model.string() + "\" does not run here: " + why.message + " Choose another model."};
}

Result<storage::StoreOptions> chosen_store(const Options& options) {
  storage::StoreOptions store = store_options(standard_paths(options.store));
  if (!options.key_file.empty()) {
    SATCHEL_TRY_ASSIGN(store.key, read_key_file(options.key_file));
  } else if (storage::Store::can_encrypt() && storage::Store::wants_key(store.data_dir)) {
    store.key = ask_for_key("Passphrase of the chats: ").value_or("");
  }
  return store;
}

Result<std::unique_ptr<storage::Store>> open_store(const Options& options, storage::OpenMode mode) {
  SATCHEL_TRY_ASSIGN(storage::StoreOptions store, chosen_store(options));
  store.mode = mode;
  return storage::Store::open(std::move(store));
}

bool has_no_chats_yet(const Options& options, const Error& why) {
  std::error_code unknown;
  return why.code == "NO_LIBRARY" &&
         (options.store.empty() || std::filesystem::is_directory(options.store, unknown));
}

Error no_chat_named(const std::string& name) {
  return {ErrorKind::not_found, "CHAT_NOT_FOUND",
          "There is no chat named \"" + name + "\". Run `satchel chats` to list the saved chats."};
}

Result<std::unique_ptr<runtime::Engine>> open_engine(const Options& options, Console& console) {
  const Paths paths = standard_paths(options.store);
  SATCHEL_TRY_ASSIGN(const std::filesystem::path model, chosen_model(paths, options.model));
  if (!paths.notice.empty()) console.warning(paths.notice);
  runtime::EngineOptions engine = engine_options(options, paths);
  engine.model = model;
  engine.progress = console.progress();
  Result<std::unique_ptr<runtime::Engine>> opened = runtime::Engine::open(engine);
  if (!opened.ok()) return explain_not_opened(opened.error(), paths, model);
  tell_what_is_missing(**opened, console);
  return opened;
}

Json to_json(const std::vector<kvcache::Reread>& reread) {
  Json out = Json::array();
  for (const kvcache::Reread& one : reread)
    out.push_back({{"reason", kvcache::reread_word(one.reason)}, {"tokens", one.n_tokens}});
  return out;
}

void tell_rows(const runtime::Engine& engine, const Json& rows, Console& console) {
  if (!console.json()) return;
  console.document({{"schema", 1},
                    {"model", engine.config().name},
                    {"backend", engine.backend()},
                    {"device", engine.device()},
                    {"rows", rows}});
}

Json to_json(const kvcache::CacheStats& stats) {
  return Json{{"tokens", stats.n_tokens},
              {"kv_bytes_fp16", stats.fp16_bytes},
              {"kv_bytes", stats.bytes},
              {"body_bytes_fp16", stats.body_fp16_bytes},
              {"body_bytes", stats.body_bytes},
              {"kept_lane_tokens", stats.n_kept},
              {"evicted_lane_tokens", stats.n_evicted},
              {"resting_lane_tokens", stats.n_resting},
              {"fitted_lanes", stats.n_fits},
              {"dropped_fits", stats.n_fits_dropped},
              {"pending_tokens", stats.n_pending},
              {"pool_bytes", stats.arena_bytes},
              {"pool_peak_bytes", stats.arena_peak_bytes}};
}

namespace {
std::string describe_fits(const kvcache::CacheStats& stats) {
  if (stats.n_fits_dropped == 0) return {};
  return "; refit did not help in " + count_text(stats.n_fits_dropped) + " of " +
         count_text(stats.n_fits + stats.n_fits_dropped) + " lanes and left them as they were";
}
}  // namespace

std::string describe(const kvcache::CacheStats& stats) {
  if (stats.fp16_bytes == 0) return "empty";
  return size_text(stats.bytes) + ", " + size_text(stats.fp16_bytes) + " in fp16 (" +
         format_percent(static_cast<double>(stats.bytes) / static_cast<double>(stats.fp16_bytes)) +
         ")" + describe_fits(stats) +
         (stats.n_pending == 0 ? ""
                               : "; compressing " + count_text(stats.n_pending) + " tokens, " +
                                     format_percent(static_cast<double>(stats.n_pending_probed) /
                                                    static_cast<double>(stats.n_pending)));
}

}  // namespace satchel::app
