// ChatParts: the parts of one chat, for work that takes several of them. A session owns them; none
// sees another's fields.
#pragma once

#include "runtime/session/chat_cache.h"
#include "runtime/session/chat_meter.h"
#include "runtime/session/transcript.h"

namespace satchel::runtime {

struct ChatParts {
  EngineState& engine;
  const Clock& clock;
  Transcript& transcript;
  ChatCache& cache;
  ChatMeter& meter;
};

}  // namespace satchel::runtime
