// Engine: a loaded model with its tokenizer, chat template and backend. It creates sessions.
//   owns     model, backend, and the arena of all caches. Sessions must not outlive their Engine.
//   threads  one call at a time for an Engine and all its sessions (they share the backend's
//            threads)
//   errors   MODEL_*, TEMPLATE_UNKNOWN, CPU_FEATURE, ACTIVATIONS, MEMORY, GPU_*, PLUGIN_ABI,
//            THINKING (a session's options): docs/reliability.md (codes). After GPU_LOST this
//            engine is unusable; an engine on the CPU can continue saved chats.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/base/clock.h"
#include "kernels/base/log_sink.h"
#include "kernels/registry/registry.h"
#include "kvcache/lanes/far_store.h"
#include "runtime/limits/estimator.h"
#include "runtime/model/config.h"
#include "runtime/progress.h"
#include "runtime/session/session.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

struct EngineOptions {
  std::filesystem::path model;
  // A name of kernels::backend_names(), or "auto": the GPU if it is usable and the model fits into
  // its memory, otherwise the CPU; gpu_fallback_reason() has the reason.
  std::string backend = "auto";
  std::size_t n_threads = 0;                           // 0: one per physical core
  std::string cpu_level;                               // "": the highest available
  int activation_bits = 16;                            // or 8: kernels/registry/registry.h
  std::vector<std::filesystem::path> backend_folders;  // of the GPU library; absolute
  std::filesystem::path profiles;  // folder of model profiles (head budgets, key bases, selector
                                   // weights); "": shipped ones only
  // Of each arena. Set: caches keep there what their memory limit has no room for, under recipes
  // that keep all text exactly, and "auto" is the CPU. FAR_GPU (unsupported): with a GPU.
  kvcache::OpenFarStore open_far;
  std::string chat_template;  // "": detected from the file; else a name of ChatTemplate::names()
  LogSink log;
  ProgressFn progress;
  std::stop_token stop;  // of loading weights and reading the fingerprint: STOPPED
};

class Model;
struct EngineState;

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const EngineOptions& options);
  ~Engine();

  const ModelConfig& config() const;
  const std::string& fingerprint() const;  // of the model file
  const Tokenizer& tokenizer() const;
  const ChatTemplate& chat_template() const;
  std::size_t weight_bytes() const;
  std::string device() const;   // the backend, for people
  std::string backend() const;  // its name: the choice of "auto", or the requested one
  bool on_gpu() const;
  // Whether the error is the GPU's (it failed or is full), so that an engine on the CPU would not
  // have it.
  bool is_gpu_failure(const Error& error) const;
  const std::optional<Error>& gpu_fallback_reason() const;  // set if "auto" did not choose the GPU
  // Why profile files of the model were ignored; none: there are none, or they are in use.
  std::span<const Error> profile_damage() const;
  Model& model();  // for who measures it
  // Sets the model's head budgets for sessions opened from now on, and saves them if there is a
  // folder. LANE_SHARES: they do not fit the model (invalid), or are set but not saved (storage).
  Result<void> set_head_budgets(const kvcache::HeadBudgets& budgets);
  // The same for key bases; error code KEY_BASES.
  Result<void> set_key_bases(const kvcache::KeyBases& bases);

  // The memory limit for the caches of all sessions together. Raising it above the reserved memory
  // requires that no session is open; otherwise CACHE_LIMIT.
  Result<void> set_budget(std::size_t bytes);
  // Creates an empty chat, or one to resume (Session::resume). All sessions share one memory limit,
  // options.budget_bytes of the first one; later sessions may change it.
  Result<std::unique_ptr<Session>> new_session(const SessionOptions& options);
  // Backend memory available to the caches of all sessions together, including open ones.
  kernels::AvailableMemory available_memory() const;
  Result<std::size_t> default_budget() const;  // if SessionOptions have none
  // As this model is to have it (limits/precision_floor.h).
  Result<kvcache::Recipe> suited(const kvcache::Recipe& recipe) const;
  // Of suited(recipe). If request.available is not set, the engine's own is used.
  Result<Estimate> estimate(const kvcache::Recipe& recipe, const EstimateRequest& request) const;

  EngineState& state();  // engine_state.h: for those who measure a model, and tests

 private:
  explicit Engine(std::unique_ptr<EngineState> state);
  std::unique_ptr<EngineState> state_;
};

}  // namespace satchel::runtime
