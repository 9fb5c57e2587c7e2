#include "runtime/engine.h"

#include <algorithm>

#include "kernels/base/size_text.h"
#include "runtime/engine_state.h"
#include "runtime/limits/precision_floor.h"
#include "runtime/model/scratch.h"
#include "runtime/profile/profile_files.h"
#include "runtime/session/session_state.h"
#include "runtime/session/thoughts.h"

namespace satchel::runtime {
namespace {

Result<ChatTemplate> choose_template(const GgufFile& file, const std::string& name) {
  return name.empty() ? ChatTemplate::of(file) : ChatTemplate::named(name);
}

Result<void> check_vocabulary(const Tokenizer& tokenizer, const ModelConfig& config) {
  if (tokenizer.size() <= config.n_vocabulary) return {};
  return Error{ErrorKind::corrupt, "MODEL_TOKENIZER",
               "The tokenizer has " + count_text(tokenizer.size()) +
                   " tokens, but the model only " + count_text(config.n_vocabulary) +
                   ". The file is damaged; get it again."};
}

// Pages that go to disk need no room beside one another, and their text is read in short spans.
Result<std::size_t> least_far_budget(const ModelConfig& config, const kvcache::Recipe& recipe) {
  SATCHEL_TRY_ASSIGN(
      const auto planner,
      kvcache::MemoryPlanner::make(config.cache_shape(), recipe, pass_bytes(config, false, false)));
  return planner.bound(kvcache::kSpanCramped, kvcache::kSpanCramped).total();
}

Result<void> check_budget(const EngineState& engine, const SessionOptions& options,
                          std::size_t budget_bytes) {
  const ModelConfig& config = engine.model->config();
  const std::size_t n_tokens =
      std::min(engine.open_far ? kvcache::kSpanCramped : kLeastTokens, config.context);
  SATCHEL_TRY_ASSIGN(const std::size_t least, engine.open_far
                                                  ? least_far_budget(config, options.recipe)
                                                  : least_budget(config, options.recipe));
  if (least <= budget_bytes) return {};
  return Error{ErrorKind::out_of_memory,
               "MEMORY",
               "A memory limit of " + size_text(budget_bytes) + " is too small: recipe \"" +
                   options.recipe.name() + "\" needs " + size_text(least) + " (" +
                   std::to_string(least) + " bytes) for a chat of " + std::to_string(n_tokens) +
                   " tokens. Raise the limit.",
               {{"limit_bytes", budget_bytes}, {"least_limit_bytes", least}}};
}

// A damaged file counts as absent.
template <class T>
std::shared_ptr<const T> usable(EngineState& state, FoundProfile<T> found, std::string_view what) {
  if (found.damage) {
    state.record(LogLevel::warning, std::string(what) + "_damaged");
    state.profile_damage.push_back(std::move(*found.damage));
  }
  return std::move(found.value);
}

void load_profiles(EngineState& state) {
  const ModelConfig& config = state.model->config();
  const std::filesystem::path& dir = state.profiles;
  state.model->set_head_budgets(
      usable(state, find_head_budgets(dir, state.fingerprint, config), "head_budgets"));
  state.model->set_key_bases(
      usable(state, find_key_bases(dir, state.fingerprint, config), "key_bases"));
  state.model->set_selectors(selectors_when_needed(dir, state.fingerprint, config));
}

kernels::BackendOptions backend_options(const EngineOptions& options) {
  return {.n_threads = options.n_threads,
          .cpu_level = options.cpu_level,
          .activation_bits = options.activation_bits,
          .library_folders = options.backend_folders};
}

// A GPU has its own memory, which the model may have filled.
Result<void> check_available(const kernels::Backend& backend, const ModelConfig& config) {
  const kernels::AvailableMemory available = backend.available_memory();
  if (!available.taken_at_once) return {};
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  SATCHEL_TRY_ASSIGN(const std::size_t least, least_budget(config, full));
  if (least <= available.most) return {};
  return Error{
      ErrorKind::out_of_memory, "GPU_MEMORY",
      "The GPU has " + size_text(available.most) + " left beside the model; a short chat needs " +
          size_text(least) +
          ". Close other programs that use the GPU, choose a smaller model, or use the cpu "
          "backend."};
}

bool is_gpu(const kernels::Backend& backend) {
  return backend.name() == "cuda";
}

bool is_gpu_failure(const kernels::Backend& backend, const Error& error) {
  return is_gpu(backend) &&
         (error.kind == ErrorKind::device_lost || error.code.starts_with("GPU_"));
}

Error no_far_on_gpu() {
  return {ErrorKind::unsupported, "FAR_GPU",
          "A chat's memory can be kept on disk beside main memory only, not beside a GPU's. Use "
          "--backend cpu, or do without the disk."};
}

// With "auto", a GPU that fails to load the model or has no room for it counts as unusable.
Result<void> load_model(EngineState& state, const ModelConfig& config,
                        const EngineOptions& options) {
  const auto load = [&](std::string_view backend) -> Result<void> {
    SATCHEL_TRY_ASSIGN(kernels::ChosenBackend chosen,
                       kernels::choose_backend(backend, backend_options(options)));
    state.backend = std::move(chosen.backend);
    if (chosen.gpu_fallback_reason)
      state.gpu_fallback_reason = std::move(chosen.gpu_fallback_reason);
    SATCHEL_TRY_ASSIGN(state.model,
                       Model::load(*state.backend, state.file, config,
                                   {.stop = options.stop, .progress = options.progress}));
    return check_available(*state.backend, state.model->config());
  };
  if (options.open_far) {
    SATCHEL_TRY(load(options.backend == "auto" ? "cpu" : options.backend));
    return is_gpu(*state.backend) ? no_far_on_gpu() : Result<void>();
  }
  const Result<void> loaded = load(options.backend);
  const bool is_the_gpus =
      !loaded.ok() && state.backend != nullptr && is_gpu_failure(*state.backend, loaded.error());
  if (options.backend != "auto" || !is_the_gpus) return loaded;
  state.gpu_fallback_reason = loaded.error();
  state.model.reset();
  return load("cpu");
}

}  // namespace

Engine::Engine(std::unique_ptr<EngineState> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::open(const EngineOptions& options) {
  auto state = std::make_unique<EngineState>();
  state->log = options.log;
  state->open_far = options.open_far;
  SATCHEL_TRY_ASSIGN(state->file, GgufFile::open(options.model));
  SATCHEL_TRY_ASSIGN(const ModelConfig config, ModelConfig::from(state->file));
  SATCHEL_TRY_ASSIGN(state->tokenizer, Tokenizer::open(state->file));
  SATCHEL_TRY(check_vocabulary(*state->tokenizer, config));
  SATCHEL_TRY_ASSIGN(ChatTemplate chat_template,
                     choose_template(state->file, options.chat_template));
  state->chat_template = std::make_unique<ChatTemplate>(std::move(chat_template));
  SATCHEL_TRY(load_model(*state, config, options));
  SATCHEL_TRY_ASSIGN(state->fingerprint, state->file.model_fingerprint(options.stop));
  state->profiles = options.profiles;
  load_profiles(*state);
  const std::size_t n_draft_layers = state->model->config().n_draft_layers;
  state->record(
      LogLevel::info,
      "model_loaded layers=" + std::to_string(state->model->config().n_layers()) +
          (n_draft_layers > 0 ? " unused_draft_layers=" + std::to_string(n_draft_layers) : "") +
          " weight_bytes=" + std::to_string(state->model->weights().bytes) +
          " backend=" + std::string(state->backend->name()) +
          (state->gpu_fallback_reason ? " no_gpu=" + state->gpu_fallback_reason->code : ""));
  return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

const ModelConfig& Engine::config() const {
  return state_->model->config();
}
const std::string& Engine::fingerprint() const {
  return state_->fingerprint;
}
const Tokenizer& Engine::tokenizer() const {
  return *state_->tokenizer;
}
const ChatTemplate& Engine::chat_template() const {
  return *state_->chat_template;
}
std::size_t Engine::weight_bytes() const {
  return state_->model->weights().bytes + config().selectors.bytes_in_memory();
}
std::string Engine::device() const {
  return state_->backend->device();
}
std::string Engine::backend() const {
  return std::string(state_->backend->name());
}
bool Engine::on_gpu() const {
  return is_gpu(*state_->backend);
}
bool Engine::is_gpu_failure(const Error& error) const {
  return runtime::is_gpu_failure(*state_->backend, error);
}
const std::optional<Error>& Engine::gpu_fallback_reason() const {
  return state_->gpu_fallback_reason;
}
std::span<const Error> Engine::profile_damage() const {
  return state_->profile_damage;
}
Model& Engine::model() {
  return *state_->model;
}
EngineState& Engine::state() {
  return *state_;
}

Result<void> Engine::set_head_budgets(const kvcache::HeadBudgets& budgets) {
  if (!config().cache_shape().suits(budgets))
    return Error{ErrorKind::invalid, "LANE_SHARES",
                 "The head budgets do not fit \"" + config().name +
                     "\": its number of lanes or its key size differs."};
  return state_->keep_head_budgets(budgets);
}

Result<void> Engine::set_key_bases(const kvcache::KeyBases& bases) {
  if (bases.model != fingerprint() || !config().cache_shape().suits(bases))
    return Error{ErrorKind::invalid, "KEY_BASES",
                 "The key bases do not fit \"" + config().name +
                     "\": they are from another model file, or the number or size of its lanes "
                     "differs."};
  model().set_key_bases(std::make_shared<const kvcache::KeyBases>(bases));
  return state_->profiles.empty() ? Result<void>() : save_key_bases(state_->profiles, bases);
}

Result<void> Engine::set_budget(std::size_t bytes) {
  return state_->set_budget(bytes);
}

Result<std::unique_ptr<Session>> Engine::new_session(const SessionOptions& options) {
  std::size_t budget_bytes = options.budget_bytes;
  if (budget_bytes == 0 && state_->arena != nullptr) budget_bytes = state_->arena->bytes();
  if (budget_bytes == 0) {
    SATCHEL_TRY_ASSIGN(budget_bytes, default_budget());
  }
  SATCHEL_TRY(check_budget(*state_, options, budget_bytes));
  SATCHEL_TRY(check_thinking(*state_->chat_template, options.thinking));
  state_->can_profile = true;
  if (state_->arena == nullptr ||
      state_->arena->bytes() != kvcache::Arena::rounded_down(budget_bytes))
    SATCHEL_TRY(set_budget(budget_bytes));
  SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::Cache> cache,
                     kvcache::Cache::open(state_->arena, config().cache_shape(), options.recipe));
  return std::unique_ptr<Session>(
      new Session(std::make_unique<Session::State>(*state_, options, std::move(cache))));
}

// A GPU's arena is allocated at once, so it is no longer free; but caches may use it.
kernels::AvailableMemory Engine::available_memory() const {
  kernels::AvailableMemory available = state_->backend->available_memory();
  if (!available.taken_at_once || state_->arena == nullptr) return available;
  available.most += state_->arena->capacity_bytes();
  available.usually += state_->arena->capacity_bytes();
  return available;
}

Result<std::size_t> Engine::default_budget() const {
  return runtime::default_budget(config(), available_memory());
}

// Weights that the backend repacked are already allocated and no longer count as free.
Result<kvcache::Recipe> Engine::suited(const kvcache::Recipe& recipe) const {
  return runtime::suited(recipe, config().architecture);
}

Result<Estimate> Engine::estimate(const kvcache::Recipe& recipe,
                                  const EstimateRequest& request) const {
  const Weights& weights = state_->model->weights();
  EstimateRequest here = request;
  if (!here.available) here.available = available_memory();
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe held, suited(recipe));
  SATCHEL_TRY_ASSIGN(Estimate out,
                     runtime::estimate(config(), weights.bytes - weights.owned_bytes, held, here));
  out.weight_bytes = weight_bytes();
  out.outside_bytes = state_->model->outside_bytes();
  return out;
}

}  // namespace satchel::runtime
