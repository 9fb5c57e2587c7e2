// The parts of a chat with the bundled model, without a Session around them.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "runtime/limits/presets.h"
#include "runtime/session/session_state.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {

class ChatPartsTest : public ChatTest {
 protected:
  SessionOptions options(std::string_view recipe) {
    SessionOptions out(value_of(resolve_recipe(recipe)));
    out.chat = chat_;
    out.journal = &journal_;
    out.records = &records_;
    return out;
  }
  static std::unique_ptr<kvcache::Cache> cache_of(const kvcache::Recipe& recipe,
                                                  Engine& engine = shared_engine()) {
    const EngineState& state = engine.state();
    return value_of(kvcache::Cache::open(state.arena, state.model->config().cache_shape(), recipe));
  }
  static std::unique_ptr<Session::State> parts(const SessionOptions& options) {
    return std::make_unique<Session::State>(shared_engine().state(), options,
                                            cache_of(options.recipe));
  }
  // With a short message that is read.
  std::unique_ptr<Session::State> parts_with_text(std::string_view recipe) {
    auto out = parts(options(recipe));
    add_text(*out, "The brass bell hangs in the north tower.");
    value_of(out->prefill.prefill_unread({}, {}));
    return out;
  }
  static void add_text(Session::State& to, std::string_view text) {
    value_of(to.transcript.add_user(text));
  }
};

}  // namespace satchel::runtime
