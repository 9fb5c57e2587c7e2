// Turn: one conversation turn, in steps, so that several chats can decode together. What is unread
// is read, then the head of the answer. Tokens are drawn until the answer ends; the journal has
// each of them before it is shown. At the end the cache has seen all of it, and what reading cost
// is measured.
//   order   begin -> (choose -> decode, or Engine's step -> decoded)* until choose gives none ->
//           close -> measure, once. What fails on the way ends the turn, and close() says so
#pragma once

#include <optional>
#include <string>

#include "runtime/sampler/repetition_detector.h"
#include "runtime/sampler/sampler.h"
#include "runtime/session/chat_prefill.h"
#include "runtime/tokenizer/answer_reader.h"

namespace satchel::runtime {

class Turn {
 public:
  // request outlives the turn.
  Turn(const ChatParts& parts, ChatPrefill& prefill, const TurnRequest& request);

  void begin();
  // Draws one token, commits and shows it; none: the answer is over. The token is to be decoded.
  std::optional<TokenId> choose();
  // Of this chat alone; where memory is full, what is pending is compressed first.
  Result<void> decode(TokenId token);
  // What came of decoding; logits() are those after the token.
  void decoded(const Result<void>& result);
  Result<GenerateReport> close();
  // The report of close(), with what reading cost if that can be measured now: takes a while.
  Result<GenerateReport> measure(Result<GenerateReport> closed);

  kvcache::Cache& cache() { return *parts_.cache; }
  std::span<float> logits() { return prefill_.logits(); }

 private:
  Result<void> read_prompt();
  Result<void> begin_answer();
  // The logits are those after the head, or where it has no tokens, after what is before it.
  Result<void> read_head();
  Result<std::optional<TokenId>> draw();
  std::optional<Finish> reached() const;  // what forbids another token
  // A full arena and Stop end the answer, all else the turn.
  Result<void> end_or_fail(const Error& problem);
  // Closes a whole answer, leaves a cut one open for the next message to close.
  Result<void> finish_answer();
  void show(const AnswerReader::Said& said);
  std::string context_full_text() const;

  ChatParts parts_;
  ChatPrefill& prefill_;
  const TurnRequest& request_;
  Sampler sampler_;
  RepetitionDetector repetition_detector_;
  AnswerReader reader_;
  GenerateReport report_;
  double began_ms_ = 0;
  std::optional<TokenId> ended_by_;  // the template's end token, if the model drew it
  Result<void> went_;                // what failed
  bool is_open_ = false;             // the journal has the answer
  bool goes_on_ = false;             // another token may be drawn
  bool wanted_ = true;               // false once a listener said stop
  bool repeats_ = false;
};

}  // namespace satchel::runtime
