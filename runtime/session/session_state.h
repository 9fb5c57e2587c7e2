// The inside of a Session: the parts of a chat, which it only joins.
//   Transcript   its messages as token ids   ChatCache  its cache, recipe and saved form
//   ChatMeter    what compression cost it    ChatPrefill  brings the cache up to the transcript
//   Past         older turns as episodes, and which of them attention sees
//   IdleWork     what may wait               Turn  one answer, while it is made
//   PartNotes    what each part of a long chat says to one question, while it is asked
//   MemoryChangePlanner, MemoryChanger             another limit or recipe, while that is asked for
#pragma once

#include <memory>

#include "runtime/engine_state.h"
#include "runtime/session/chat_parts.h"
#include "runtime/session/idle_work.h"

namespace satchel::runtime {

// Members go in reverse order: the meter's rows lie in the arena that the cache holds.
struct Session::State {
  State(EngineState& engine_in, const SessionOptions& options_in,
        std::unique_ptr<kvcache::Cache> cache_in);

  EngineState& engine;
  const SessionOptions options;  // as the chat was opened: recipe and thinking may be others now
  const SystemClock system_clock;
  const Clock& clock;
  Transcript transcript;
  ChatCache cache;
  ChatMeter meter;
  const ChatParts parts;
  Past past;
  ChatPrefill prefill;
  IdleWork idle_work;
};

// The cache keeps what it has seen of the text up to token `end`, and goes back to where it can;
// what follows is read again.
void cut_cache(Session::State& s, std::size_t end);

}  // namespace satchel::runtime
