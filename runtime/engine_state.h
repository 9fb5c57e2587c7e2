// What an Engine owns and its Sessions use. Not for outside the layer.
#pragma once

#include <memory>
#include <string>

#include "kernels/base/log_sink.h"
#include "kernels/contract/backend.h"
#include "kvcache/lanes/arena.h"
#include "runtime/engine.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/model.h"

namespace satchel::runtime {

// Members go in reverse order: the model's weights read the file's mapping and the backend's
// memory.
struct Engine::State {
  GgufFile file;
  std::string fingerprint;
  std::shared_ptr<kernels::Backend> backend;  // its caches hold a share
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::unique_ptr<Model> model;
  std::shared_ptr<kvcache::Arena> arena;  // of all sessions; made with the first one
  LogSink log;
  double read_ms_per_token = 0;  // as measured last; 0: not yet

  void record(LogLevel level, std::string_view text) const {
    if (log) log(level, "runtime", text);
  }
};

}  // namespace satchel::runtime
