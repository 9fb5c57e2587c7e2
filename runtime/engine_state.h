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
#include "runtime/engine.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/model.h"

namespace satchel::runtime {

class LaneProfiler;

// Members go in reverse order: the model's weights read the file's mapping and the backend's
// memory.
struct Engine::State {
  GgufFile file;
  std::string fingerprint;
  std::shared_ptr<kernels::Backend> backend;  // its caches hold a share
  std::optional<Error> why_not_gpu;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::unique_ptr<Model> model;
  std::shared_ptr<kvcache::Arena> arena;        // of all sessions; made with the first one
  std::filesystem::path lane_tables;            // they and key bases are kept there; "": nowhere
  std::unique_ptr<LaneProfiler> lane_profiler;  // a table in the making
  bool can_profile = true;  // false: it failed, and waits for another chat or limit
  LogSink log;
  double read_ms_per_token = 0;  // as measured last; 0: not yet

  State();
  ~State();
  Result<void> keep_lane_shares(const kvcache::LaneShares& shares);
  // A text of the model's lane table; how much of it is done, at the end 1. What fails is given up,
  // but for cancelled/STOPPED.
  Result<void> set_budget(std::size_t bytes);  // as Engine's
  // In place of the one there is, which no cache holds any more.
  void take_arena(std::shared_ptr<kvcache::Arena> other);
  // CACHE_LIMIT where another chat's cache lives in the arena as well.
  Result<void> check_alone() const;
  Result<double> profile_step(const std::stop_token& stop);

  void record(LogLevel level, std::string_view text) const {
    if (log) log(level, "runtime", text);
  }
};

}  // namespace satchel::runtime
