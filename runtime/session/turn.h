// Turn: what Session::generate() does, in steps, so that several chats can decode together: what is
// unread is read, the answer is begun; tokens are chosen and decoded until there is none; at the
// end the answer is closed and what reading cost is measured.
//   order  begin -> (choose -> decode or Engine's step -> decoded)* -> close -> measure, once; what
//          fails ends the turn, and close() says so
#pragma once

#include <optional>

#include "runtime/session/answer.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {

class Turn {
 public:
  // request outlives the turn.
  Turn(Session::State& session, const TurnRequest& request)
      : session_(session), request_(request) {}

  void begin() { went_ = read(); }
  // A token to be decoded; none: nothing more is to be said.
  std::optional<TokenId> choose() { return answer_ ? answer_->choose() : std::nullopt; }
  Result<void> decode(TokenId token) { return answer_->decode(token); }
  void decoded(const Result<void>& result) { answer_->decoded(result); }
  Result<GenerateReport> close();
  // The report of close(), with what reading cost if that can be measured now: takes a while.
  Result<GenerateReport> measure(Result<GenerateReport> closed);

  kvcache::Cache& cache() { return *session_.cache; }
  std::span<float> logits() { return session_.logits; }

 private:
  Result<void> read();

  Session::State& session_;
  const TurnRequest& request_;
  Result<void> went_;
  ReadReport read_report_;
  std::optional<Answer> answer_;
};

}  // namespace satchel::runtime
