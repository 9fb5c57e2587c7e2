// A cache that could not be had again after it was given back, and having it again.
#include "runtime/session/session_state.h"

namespace satchel::runtime {

Error Session::State::lost(const Error& why) const {
  return {why.kind, "CACHE_LOST",
          "The memory of this chat was given back to make a change, and cannot be had again" +
              (why.message.empty() ? "." : ": " + why.message) + " " + kept_text() +
              "It is tried again with the next message: close other programs or chats before, or "
              "open the chat again, with a smaller memory limit if need be."};
}

Result<void> Session::State::take_cache(std::size_t limit_bytes) {
  SATCHEL_ASSERT(cache == nullptr && snapshot == nullptr);
  lost_limit = limit_bytes;
  const auto opened = [this]() -> Result<void> {
    if (engine.arena == nullptr) SATCHEL_TRY(engine.set_budget(lost_limit));
    SATCHEL_TRY_ASSIGN(cache,
                       kvcache::Cache::open({.backend = engine.backend, .arena = engine.arena},
                                            engine.model->config().cache_shape(), options.recipe));
    return {};
  };
  const Result<void> done = opened();
  if (!done.ok()) return lost(done.error());
  return {};
}

Result<void> Session::State::restore_saved() {
  open_snapshot();
  const std::size_t n = transcript.tokens().size();
  if (snapshot != nullptr && n > 0) {
    const Result<kvcache::RestoreReport> restored = snapshot->restore(identity(n));
    if (!restored.ok()) cache->clear();
    const std::string& why = restored.ok() ? restored->message : restored.error().message;
    if (!why.empty())
      engine.record(LogLevel::warning, "restored after its memory was lost: " + why);
  }
  if (n_read() == 0) forget_measured();  // it was of a cache that is gone
  script = {};
  return make_script();
}

Result<void> Session::State::need_cache() {
  if (cache != nullptr) return {};
  SATCHEL_TRY(take_cache(lost_limit));
  return restore_saved();
}

}  // namespace satchel::runtime
