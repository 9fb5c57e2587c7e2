// Transcript: a chat's messages as token ids, each committed to the journal before anyone may read
// its tokens.
//   invariants  1 tokens() is the messages' token ids side by side, as the journal has them (but
//                 for messages of another tokenizer, see load)
//               2 an answer that was cut off is closed (the template's tail) by the message after
//                 it, and those tokens are that message's
//               3 after an error of the journal nothing of that call is in tokens(), except what an
//                 answer has already streamed: that is kept and committed with its next call
//   threads     one call at a time
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/snapshot/journal.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

struct TranscriptOptions {
  const Tokenizer& tokenizer;
  const ChatTemplate& chat_template;
  std::size_t n_vocabulary = 0;  // of the model
  std::optional<std::string> system;
  kvcache::Journal* journal = nullptr;
  kvcache::ChatId chat;
};

// Messages made, not committed yet.
struct Draft {
  struct Message {
    kvcache::Role role;
    std::string text;
    std::vector<TokenId> tokens;
  };
  std::vector<Message> messages;
  std::size_t n_tokens() const;
};

class Transcript {
 public:
  explicit Transcript(TranscriptOptions options) : options_(std::move(options)) {}

  // The system message where none was written yet, then the user's, then `answer` if there is one.
  Result<Draft> draft(std::string_view text, std::string_view shown,
                      std::optional<std::string_view> answer) const;
  // Commits message by message; the id is that of the user's.
  Result<kvcache::MessageId> commit(const Draft& draft);

  // What makes the model answer, the closing of a cut answer before it included.
  Result<std::vector<TokenId>> answer_head() const;
  Result<std::vector<TokenId>> answer_tail() const;  // of the answer that streams
  Result<void> begin_answer(std::span<const TokenId> head);
  Result<void> extend_answer(std::string_view text, std::span<const TokenId> tokens);
  Result<void> finish_answer(kvcache::MessageState state, std::string_view text,
                             std::span<const TokenId> tokens);

  // From the journal, into an empty transcript (transcript_load.cpp). An answer that still streams
  // there was cut off by the end of its process: it is committed as interrupted. A message whose
  // ids do not say its text was written with another tokenizer: its text is made into ids anew.
  // Returns how many were.
  Result<std::size_t> load();

  std::span<const TokenId> tokens() const { return tokens_; }
  bool empty() const { return spans_.empty(); }
  // Where the message ends that holds token `at`.
  std::size_t message_end(std::size_t at) const;

 private:
  struct Span {
    kvcache::Role role;
    std::size_t end = 0;  // in tokens_
    bool cut_off = false;
  };
  void append(kvcache::Role role, std::span<const TokenId> tokens);
  bool is_ours(const kvcache::StoredMessage& message) const;
  // The ids of a message's text, in its place behind tokens(). system: what the chat began with.
  Result<std::vector<TokenId>> made_anew(const kvcache::StoredMessage& message,
                                         const std::optional<std::string_view>& system) const;
  // Commits what an answer still owes the journal after an error.
  Result<void> settle();
  // Closes a cut answer: empty where there is none.
  Result<std::vector<TokenId>> closing() const;

  TranscriptOptions options_;
  std::vector<TokenId> tokens_;
  std::vector<Span> spans_;
  std::optional<kvcache::MessageId> answer_;  // streams
  std::string owed_text_;
  std::vector<TokenId> owed_tokens_;
};

}  // namespace satchel::runtime
