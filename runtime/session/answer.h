// Answer: one answer being made: its head is read, tokens are drawn until it ends, the journal has
// each of them before it is shown, and at the end the cache has seen all of it.
//   order   begin -> (choose -> the token is decoded -> decoded)* until choose gives none -> end,
//           once. What fails on the way ends the answer, and end() says so
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "runtime/sampler/loop_watch.h"
#include "runtime/sampler/sampler.h"
#include "runtime/session/session_state.h"
#include "runtime/tokenizer/answer_reader.h"

namespace satchel::runtime {

class Answer {
 public:
  // piece: gets the answer · thought: what is thought before it
  struct Listeners {
    const PieceFn &piece, &thought;
    const ProgressFn& progress;
  };
  Answer(Session::State& session, const Sampling& sampling, const Listeners& listeners,
         std::stop_token stop);

  void begin();  // reads the head
  // Draws one token, commits and shows it; none: the answer is over. The token is to be decoded.
  std::optional<TokenId> choose();
  // Of this chat alone; where memory is full, what waits is packed first.
  Result<void> decode(TokenId token);
  // What came of decoding; the session's logits are those after the token.
  void decoded(const Result<void>& result);
  Result<GenerateReport> end();

 private:
  Result<void> read_head();
  Result<void> see_head();
  Result<std::optional<TokenId>> draw();
  std::optional<Finish> reached() const;  // what forbids another token
  // A full pool and Stop end the answer, all else the call.
  Result<void> end_or_fail(const Error& problem);
  // Closes a whole answer, leaves a cut one open for the next message to close.
  Result<void> finish(bool went_well);
  void show(const AnswerReader::Said& said);
  std::string context_full_text() const;

  Session::State& session_;
  Sampling sampling_;
  Sampler sampler_;
  LoopWatch loop_watch_;
  Listeners listeners_;
  std::stop_token stop_;
  AnswerReader reader_;
  GenerateReport report_;
  double began_ms_ = 0;
  std::optional<TokenId> ended_by_;  // the template's end token, if the model drew it
  Result<void> went_;                // what failed
  bool is_open_ = false;             // the journal has the answer
  bool goes_on_ = false;             // another token may be drawn
  bool wanted_ = true;               // false once a listener said stop
  bool loops_ = false;
};

}  // namespace satchel::runtime
