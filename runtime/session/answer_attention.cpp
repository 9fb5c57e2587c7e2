// What an answer of the chat attends to.
#include "runtime/replay/attention_paid.h"
#include "runtime/session/session.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {

Result<AttentionPaid> Session::attention(MessageId answer, const std::stop_token& stop) {
  State& s = *state_;
  if (s.cache.is_lost()) return AttentionPaid{};
  SATCHEL_TRY_ASSIGN(const SessionMessage message, s.transcript.find(answer));
  return attention_paid(*s.engine.model, *s.cache, tokens(), {message.begin, message.end}, stop);
}

}  // namespace satchel::runtime
