// Runtimes and models.
#include "runtime/c_api/handles.h"
#include "runtime/c_api/json.h"
#include "runtime/file_estimate.h"
#include "runtime/limits/presets.h"

namespace satchel::c_api {
namespace {

// The chats of a store that another model may use when this one is gone.
class BorrowedStore final : public runtime::ChatStore {
 public:
  explicit BorrowedStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  BorrowedStore(BorrowedStore&&) = delete;
  ~BorrowedStore() override { store_->is_used = false; }

  runtime::ChatLibrary& library() override { return store_->chats->library(); }
  kvcache::RecordStore* records() override { return store_->chats->records(); }
  Result<std::vector<runtime::Found>> search(const runtime::SearchQuery& query) override {
    return store_->chats->search(query);
  }
  Result<std::vector<runtime::ShelvedDocument>> shelf() override { return store_->chats->shelf(); }
  Result<void> keep_document(std::string_view title, std::string_view text) override {
    return store_->chats->keep_document(title, text);
  }
  Result<std::string> document_text(std::string_view hash) override {
    return store_->chats->document_text(hash);
  }
  Result<void> remove_document(std::string_view hash) override {
    return store_->chats->remove_document(hash);
  }
  std::vector<std::string> notices() const override { return store_->chats->notices(); }
  Result<void> delete_now(runtime::ChatId chat) override { return store_->chats->delete_now(chat); }
  std::vector<runtime::LibraryCopy> copies() const override { return store_->chats->copies(); }
  Result<void> delete_copy(std::string_view name) override {
    return store_->chats->delete_copy(name);
  }
  Result<std::size_t> purge_expired() override { return store_->chats->purge_expired(); }
  Result<std::size_t> thin_unused(std::span<const runtime::ChatId> open,
                                  const std::stop_token& stop) override {
    return store_->chats->thin_unused(open, stop);
  }

 private:
  std::shared_ptr<Store> store_;
};

Result<std::unique_ptr<runtime::ChatStore>> borrowed(satchel_store* store) {
  if (store == nullptr) return std::unique_ptr<runtime::ChatStore>();
  if (store->shared->is_used.exchange(true))
    return Error{ErrorKind::invalid, "STORE_USED",
                 "This store is used by another model. Free that one first."};
  return std::unique_ptr<runtime::ChatStore>(new BorrowedStore(store->shared));
}

std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

runtime::EngineOptions engine_options(const Runtime& runtime, const satchel_model_options& given) {
  runtime::EngineOptions options;
  if (given.backend != nullptr) options.backend = given.backend;
  options.n_threads = given.n_threads;
  options.cpu_level = text_or_empty(given.cpu_level);
  options.chat_template = text_or_empty(given.chat_template);
  if (given.activation_bits != 0) options.activation_bits = static_cast<int>(given.activation_bits);
  options.backend_folders = runtime.backend_folders;
  options.profiles = runtime.profile_folder;
  options.log = runtime.log;
  return options;
}

Result<std::shared_ptr<Model>> loaded(const satchel_runtime& runtime, const char* path,
                                      const satchel_model_options& options, Listener& listener) {
  SATCHEL_TRY_ASSIGN(std::unique_ptr<runtime::ChatStore> store, borrowed(options.store));
  std::shared_ptr<Model> model(new Model{
      .runtime = runtime.shared,
      .service = runtime::ChatService(std::move(store), engine_options(*runtime.shared, options))});
  SATCHEL_TRY_ASSIGN(const runtime::ModelFacts facts,
                     model->service.open_model(path, listener.call()));
  if (listener.stop().stop_requested()) return runtime::call_stopped();
  model->device = facts.device;
  return model;
}

LogSink sink_of(const satchel_runtime_options& options) {
  if (options.log == nullptr) return {};
  return [log = options.log, user = options.log_user, least = options.log_level](
             LogLevel level, std::string_view component, std::string_view line) {
    if (static_cast<int32_t>(level) >= least)
      log(user, static_cast<int32_t>(level), std::string(component).c_str(),
          std::string(line).c_str());
  };
}

runtime::EstimateRequest request_of(std::uint64_t n_tokens, std::uint64_t limit_bytes) {
  return {.n_tokens = n_tokens,
          .budget_bytes = limit_bytes,
          .asks = {.expected_bytes = true, .tokens_that_fit = true}};
}

void give_estimate(satchel_estimate* out, const runtime::Estimate& found, std::size_t least) {
  give(out, {.struct_size = 0,
             .fits = found.fits,
             .weight_bytes = found.weight_bytes,
             .cache_bytes = found.cache_bytes,
             .expected_bytes = found.expected_bytes,
             .workspace_bytes = found.scratch_bytes,
             .limit_bytes = found.budget_bytes,
             .least_limit_bytes = least,
             .fp16_bytes = found.fp16_bytes,
             .n_tokens_fit = found.n_tokens_fit,
             .n_tokens_most = found.n_tokens_most,
             .available_bytes = found.available_bytes});
}

nlohmann::json described(const kvcache::Recipe& recipe, std::string_view name) {
  return {{"name", name}, {"source", recipe.source()}, {"keep", recipe.keep()}};
}

}  // namespace
}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_runtime_create(const satchel_runtime_options* options, satchel_runtime** runtime,
                               satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (runtime == nullptr) return missing("runtime");
    *runtime = nullptr;
    SATCHEL_TRY_ASSIGN(const satchel_runtime_options given, taken(options));
    auto made = std::make_shared<Runtime>();
    made->log = sink_of(given);
    if (given.backend_folder != nullptr) made->backend_folders.emplace_back(given.backend_folder);
    if (given.profile_folder != nullptr) made->profile_folder = given.profile_folder;
    *runtime = new satchel_runtime{std::move(made)};
    return {};
  });
}

void satchel_runtime_free(satchel_runtime* runtime) {
  delete runtime;
}

int32_t satchel_model_load(satchel_runtime* runtime, const char* path,
                           const satchel_model_options* options, const satchel_listener* listener,
                           satchel_model** model, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (model == nullptr) return missing("model");
    *model = nullptr;
    if (runtime == nullptr) return missing("runtime");
    if (path == nullptr) return missing("path");
    SATCHEL_TRY_ASSIGN(const satchel_model_options given, taken(options));
    SATCHEL_TRY_ASSIGN(const satchel_listener functions, taken(listener));
    Listener heard(functions);
    SATCHEL_TRY_ASSIGN(std::shared_ptr<Model> made, loaded(*runtime, path, given, heard));
    *model = new satchel_model{std::move(made)};
    return {};
  });
}

void satchel_model_free(satchel_model* model) {
  delete model;
}

int32_t satchel_model_describe(satchel_model* model, satchel_model_info* info,
                               satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (model == nullptr) return missing("model");
    SATCHEL_TRY(clear(info));
    return with_engine(*model->shared, [&](const runtime::Engine& engine) -> Result<void> {
      SATCHEL_TRY_ASSIGN(const std::size_t limit, engine.default_budget());
      give(info, {.struct_size = 0,
                  .on_gpu = engine.on_gpu(),
                  .weight_bytes = engine.weight_bytes(),
                  .n_layers = engine.config().n_layers(),
                  .n_context = engine.config().context,
                  .n_vocabulary = engine.config().n_vocabulary,
                  .has_chat_template = !engine.chat_template().is_plain(),
                  .has_thinking_switch = engine.chat_template().has_thinking_switch(),
                  .default_limit_bytes = limit});
      return {};
    });
  });
}

const char* satchel_model_device(const satchel_model* model) {
  return model == nullptr ? "" : model->shared->device.c_str();
}

int32_t satchel_tokenize(satchel_model* model, const char* text, size_t size, int32_t* ids,
                         size_t capacity, size_t* n, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (n != nullptr) *n = 0;
    if (model == nullptr) return missing("model");
    if (ids == nullptr && capacity > 0) return missing("ids");
    SATCHEL_TRY_ASSIGN(const std::string_view given, text_of(text, size, "text"));
    std::vector<runtime::TokenId> encoded;
    SATCHEL_TRY(with_engine(*model->shared, [&](const runtime::Engine& engine) -> Result<void> {
      SATCHEL_TRY_ASSIGN(encoded, engine.tokenizer().encode(given, runtime::SpecialText::as_text));
      return {};
    }));
    if (n != nullptr) *n = encoded.size();
    if (ids == nullptr) return {};
    if (encoded.size() > capacity)
      return Error{ErrorKind::invalid, "BUFFER_SIZE",
                   "The text has " + std::to_string(encoded.size()) + " tokens, the buffer holds " +
                       std::to_string(capacity) + "."};
    std::ranges::copy(encoded, ids);
    return {};
  });
}

int32_t satchel_detokenize(satchel_model* model, const int32_t* ids, size_t n,
                           satchel_buffer** text, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (text == nullptr) return missing("text");
    *text = nullptr;
    if (model == nullptr) return missing("model");
    if (ids == nullptr && n > 0) return missing("ids");
    return with_engine(*model->shared, [&](const runtime::Engine& engine) -> Result<void> {
      give_text(text, engine.tokenizer().text({ids, n}));
      return {};
    });
  });
}

int32_t satchel_estimate_memory(satchel_model* model, const char* recipe, uint64_t n_tokens,
                                uint64_t limit_bytes, satchel_estimate* estimate,
                                satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (model == nullptr) return missing("model");
    if (estimate == nullptr) return missing("estimate");
    SATCHEL_TRY(clear(estimate));
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe wanted, recipe_of(recipe));
    return with_engine(*model->shared, [&](const runtime::Engine& engine) -> Result<void> {
      SATCHEL_TRY_ASSIGN(const runtime::Estimate found,
                         engine.estimate(wanted, request_of(n_tokens, limit_bytes)));
      SATCHEL_TRY_ASSIGN(const std::size_t least, least_budget(engine.config(), wanted));
      give_estimate(estimate, found, least);
      return {};
    });
  });
}

int32_t satchel_model_estimate(satchel_runtime* runtime, const char* path,
                               const satchel_model_options* options, const char* recipe,
                               uint64_t n_tokens, uint64_t limit_bytes, satchel_estimate* estimate,
                               satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (estimate == nullptr) return missing("estimate");
    SATCHEL_TRY(clear(estimate));
    if (runtime == nullptr) return missing("runtime");
    if (path == nullptr) return missing("path");
    SATCHEL_TRY_ASSIGN(const satchel_model_options given, taken(options));
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe wanted, recipe_of(recipe));
    const runtime::EngineOptions would_be = engine_options(*runtime->shared, given);
    SATCHEL_TRY_ASSIGN(
        const runtime::FileEstimate found,
        estimate_file({.file = path,
                       .profiles = would_be.profiles,
                       .backend = would_be.backend,
                       .backend_options = {.n_threads = would_be.n_threads,
                                           .cpu_level = would_be.cpu_level,
                                           .activation_bits = would_be.activation_bits,
                                           .library_folders = would_be.backend_folders}},
                      wanted, request_of(n_tokens, limit_bytes)));
    give_estimate(estimate, found.estimate, found.least_budget_bytes);
    return {};
  });
}

int32_t satchel_recipes(satchel_buffer** json, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (json == nullptr) return missing("json");
    *json = nullptr;
    nlohmann::json all = nlohmann::json::array();
    for (const runtime::Preset& preset : runtime::presets()) {
      SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(preset.name));
      all.push_back(described(recipe, preset.name));
    }
    for (const kvcache::BuiltinRecipe& builtin : kvcache::builtin_recipes()) {
      SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, kvcache::Recipe::builtin(builtin.name));
      all.push_back(described(recipe, builtin.name));
    }
    give_json(json, all);
    return {};
  });
}

int32_t satchel_recipe_check(const char* recipe, satchel_buffer** json, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (json != nullptr) *json = nullptr;
    if (recipe == nullptr) return missing("recipe");
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe checked, recipe_of(recipe));
    give_text(json, checked.json());
    return {};
  });
}
