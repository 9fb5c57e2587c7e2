// What an Engine owns and its Sessions use. Not for outside the layer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/base/log_sink.h"
#include "kernels/contract/backend.h"
#include "kvcache/lanes/arena.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/model.h"
#include "runtime/profile/lane_profiler.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

class ChatCache;
class TokenTrie;

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
  kvcache::OpenFarStore open_far;               // for each arena; empty: they have none
  std::filesystem::path profiles;               // the folder of profile files; "": none
  std::vector<Error> profile_damage;            // why files there, or shipped ones, were ignored
  std::unique_ptr<LaneProfiler> lane_profiler;  // a profile in the making
  bool can_profile = true;               // false: it failed; another chat or limit tries again
  std::vector<const ChatCache*> caches;  // of the sessions that are open; each enters and leaves
  LogSink log;
  double read_ms_per_token = 0;                    // as measured last; 0: not yet
  double reading_ms(std::size_t n_tokens) const {  // estimated; 0: not known
    return read_ms_per_token * static_cast<double>(n_tokens);
  }

  std::shared_ptr<const TokenTrie> token_trie;  // made with the first answer that has a grammar

  // Of the model's vocabulary.
  std::shared_ptr<const TokenTrie> tokens_for_grammars();
  Result<void> keep_head_budgets(const kvcache::HeadBudgets& budgets);
  Result<void> set_budget(std::size_t bytes);  // as Engine's
  Result<std::shared_ptr<kvcache::Arena>> open_arena(std::size_t bytes) const;
  // Replaces the arena, which no cache may hold any more.
  void take_arena(std::shared_ptr<kvcache::Arena> other);
  // CACHE_LIMIT if another chat's cache is in the arena, too.
  Result<void> check_alone() const;
  // Measures one text of the head-budget profile. Returns how much is done, at the end 1. A failure
  // other than cancelled/STOPPED gives the profile up.
  Result<double> profile_step(const std::stop_token& stop);
  double profile_done() const;  // how much of the model's head-budget profile is done, 0 to 1
  ProfiledModel profiled() const { return {*model, *tokenizer, backend, fingerprint}; }

  void record(LogLevel level, std::string_view text) const {
    if (log) log(level, "runtime", text);
  }
};

}  // namespace satchel::runtime
