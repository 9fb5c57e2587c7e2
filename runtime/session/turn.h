// Turn: one conversation turn, in steps, so that several chats can decode together. It reads what
// is unread, then the head of the answer, and draws tokens until the answer ends. Each token is in
// the journal before it is shown. At the end the cache has seen all of them, and the cost of
// reading is measured.
//   order   begin -> (choose -> decode, or a DecodeGroup's step -> decoded)* until choose gives
//           none -> close -> measure, once. What fails on the way ends the turn; close() says so
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/grammar/token_constraint.h"
#include "runtime/sampler/repetition_detector.h"
#include "runtime/sampler/sampler.h"
#include "runtime/sampler/stop_text.h"
#include "runtime/session/answer_drafts.h"
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
  // For this chat alone, with tokens that may follow it (AnswerDrafts): choose() gives those that
  // did without another step. If memory is full, compresses what is pending and tries again.
  //   calls_back  whether this is the thread of the call, on which what is said is shown: only
  //               there are drafts tried
  Result<void> decode(TokenId token, bool calls_back = true);
  // Takes the result of decoding; on success logits() are those after the token.
  void decoded(const Result<void>& result);
  Result<GenerateReport> close();
  // Adds the cost of reading to the report of close(), if it can be measured now. Takes a while.
  Result<GenerateReport> measure(Result<GenerateReport> closed);

  // Called before it reads, compresses or frees memory behind a token: returns when it may do so.
  void ask_before_changes(std::function<void()> ask) { ask_ = std::move(ask); }

  Model& model() { return *parts_.engine.model; }
  kvcache::Cache& cache() { return *parts_.cache; }
  std::span<float> logits() { return prefill_.logits(); }

 private:
  Result<void> read_prompt();
  Result<void> begin_answer();
  // Leaves the logits after the head, or after the text before it if the head has no tokens.
  Result<void> read_head();
  Result<std::optional<TokenId>> draw();
  Result<TokenId> next_token();
  // Drafts that a step may have: none where another chat's text is being read, which may need the
  // memory, nor at the end of the context.
  std::size_t draft_room();
  Result<void> decode_one(TokenId token);
  Result<void> decode_drafted(std::span<const TokenId> ids);
  std::optional<Finish> reached() const;  // why there can be no further token
  // A full arena and Stop end the answer; anything else fails the turn.
  Result<void> end_or_fail(const Error& problem);
  // Closes a whole answer, leaves a cut one open for the next message to close.
  Result<void> finish_answer();
  // Without what may yet become a stop text.
  AnswerReader::Said until_stop(AnswerReader::Said said);
  void show(const AnswerReader::Said& said);
  std::string context_full_text() const;
  void ask() const {
    if (ask_) ask_();
  }

  ChatParts parts_;
  ChatPrefill& prefill_;
  const TurnRequest& request_;
  Sampler sampler_;
  std::unique_ptr<TokenConstraint> constraint_;  // nullptr: the answer may be any text
  std::function<void()> ask_;
  RepetitionDetector repetition_detector_;
  AnswerDrafts drafts_;
  std::optional<TokenId> drawn_ahead_;  // in place of a draft: what choose() gives next
  AnswerReader reader_;
  StopText stops_;
  GenerateReport report_;
  double began_ms_ = 0;
  std::optional<TokenId> ended_by_;  // the template's end token, if the model drew it
  Result<void> went_;                // the first failure
  bool is_open_ = false;             // the journal has the answer
  bool goes_on_ = false;             // another token may be drawn
  bool wanted_ = true;               // false once a listener said stop
  bool repeats_ = false;
};

}  // namespace satchel::runtime
