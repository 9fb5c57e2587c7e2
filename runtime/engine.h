// Engine: one loaded model with its tokenizer, chat template and backend; sessions are made from it.
//   owns     model, backend, the arena of all caches. Sessions must not outlive their Engine.
//   threads  one call at a time over an Engine and all its sessions (they share the backend's
//            threads)
//   errors   MODEL_*, TEMPLATE_UNKNOWN, CPU_FEATURE, ACTIVATIONS, MEMORY, GPU_*, PLUGIN_ABI,
//            THINKING (of a session's options): docs/reliability.md (codes). After GPU_LOST nothing
//            works here any more: an engine on the CPU goes on with what was saved
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/clock.h"
#include "kernels/base/log_sink.h"
#include "kernels/contract/registry.h"
#include "runtime/governor/estimator.h"
#include "runtime/model/config.h"
#include "runtime/progress.h"
#include "runtime/session/session.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

struct EngineOptions {
  std::filesystem::path model;
  // A name of kernels::backend_names(), or "auto": the GPU where that can be used and has room for
  // the model, else the CPU; why_not_gpu() says why.
  std::string backend = "auto";
  std::size_t n_threads = 0;                           // 0: one per physical core
  std::string cpu_level;                               // "": the best the machine has
  int activation_bits = 16;                            // or 8: kernels/contract/registry.h
  std::vector<std::filesystem::path> backend_folders;  // where the GPU's library lies; absolute
  std::filesystem::path lane_tables;  // folder of what was learnt of models here (lane tables, key
                                      // bases, selectors' weights); "": only what ships
  std::string chat_template;  // "": recognised from the file; else a name of ChatTemplate::names()
  LogSink log;
  ProgressFn progress;
};

class Model;

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
  std::string backend() const;  // its name: what "auto" came to, or the one asked for
  bool on_gpu() const;
  // Whether an engine on the CPU would not meet this error of this one's: the GPU failed or is full.
  bool could_be_the_gpus(const Error& error) const;
  const std::optional<Error>& why_not_gpu() const;  // of "auto", where the GPU is not used
  Model& model();                                   // for runtime/measure
  // Of this model, kept for later runs if there is a folder, known to sessions opened from now on.
  // LANE_SHARES: it is not this model's (invalid), or cannot be kept (storage), but is known.
  Result<void> set_lane_shares(const kvcache::LaneShares& shares);
  // The same of its key bases: KEY_BASES.
  Result<void> set_key_bases(const kvcache::KeyBases& bases);

  // What the caches of all sessions together may take. Raising it beyond what was reserved works
  // only while no session is open: CACHE_LIMIT says so.
  Result<void> set_budget(std::size_t bytes);
  // An empty chat, or one to resume (Session::resume). All sessions share one budget: the first one's
  // options.budget_bytes, and any later one that names another sets it anew.
  Result<std::unique_ptr<Session>> new_session(const SessionOptions& options);
  // What the caches of all sessions together can have on this backend, those that are open included.
  kernels::CacheRoom cache_room() const;
  Result<std::size_t> default_budget() const;  // where SessionOptions name none
  // request.room is the engine's own where none is named.
  Result<Estimate> estimate(const kvcache::Recipe& recipe, const EstimateRequest& request) const;

  // Answers of several chats of this engine, the next token of all of them in one step: the weights
  // are read once for all. Prompts are read before that, chat by chat. Each chat gets the answer, or
  // the error, it would have got alone, as far as the memory reaches that all of them share; a chat
  // that is done, stopped or failed leaves the others to go on.
  //   needs    each session once, all of this engine
  //   errors   each chat's own, in its place: those of Session::generate
  //   threads  the caller's, which also calls the listeners; Stop of each chat from any thread
  std::vector<Result<GenerateReport>> generate(std::span<const TurnRequest> turns);

  struct State;  // for Session
  State& state();

 private:
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::runtime
