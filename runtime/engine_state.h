// What an Engine owns and its Sessions use. Not for outside the layer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "kernels/base/log_sink.h"
#include "kernels/contract/backend.h"
#include "kvcache/lanes/arena.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/model.h"
#include "runtime/profile/lane_profiler.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// Members go in reverse order: the model's weights read the file's mapping and the backend's
// memory.
struct EngineState {
  GgufFile file;
  std::string fingerprint;
  std::shared_ptr<kernels::Backend> backend;  // its caches hold a share
  std::optional<Error> gpu_fallback_reason;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::unique_ptr<Model> model;
  std::shared_ptr<kvcache::Arena> arena;        // of all sessions; made with the first one
  std::filesystem::path profiles;               // they and key bases are kept there; "": nowhere
  std::unique_ptr<LaneProfiler> lane_profiler;  // a table in the making
  bool can_profile = true;  // false: it failed, and waits for another chat or limit
  LogSink log;
  double read_ms_per_token = 0;  // as measured last; 0: not yet

  Result<void> keep_head_budgets(const kvcache::HeadBudgets& budgets);
  Result<void> set_budget(std::size_t bytes);  // as Engine's
  // In place of the one there is, which no cache holds any more.
  void take_arena(std::shared_ptr<kvcache::Arena> other);
  // CACHE_LIMIT where another chat's cache lives in the arena as well.
  Result<void> check_alone() const;
  // A text of the head-budget profile; how much of it is done, at the end 1. What fails is given
  // up, but for cancelled/STOPPED.
  Result<double> profile_step(const std::stop_token& stop);
  double profile_done() const;  // how much of the model's head-budget profile is done, 0 to 1
  ProfiledModel profiled() const { return {*model, *tokenizer, backend, fingerprint}; }

  void record(LogLevel level, std::string_view text) const {
    if (log) log(level, "runtime", text);
  }
};

}  // namespace satchel::runtime
