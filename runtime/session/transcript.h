// Transcript: a chat's messages as token ids, each committed to the journal before anyone may read
// its tokens.
//   invariants  1 tokens() is the messages' token ids side by side, as the journal has them (but
//                 for messages of another tokenizer and damaged ones, see load)
//               2 an answer that was cut off is closed (the template's tail) by the message after
//                 it, and those tokens are that message's
//               3 after an error of the journal nothing of that call is in tokens(), except what an
//                 answer has already streamed: that is kept and committed with its next call
//               4 a document and its answer are in the journal both, or neither
//   threads     one call at a time
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/journal.h"
#include "runtime/session/marks.h"
#include "runtime/session/message.h"
#include "runtime/tokenizer/answer_reader.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// Behind a message there must be room for the head of an answer, a word and the tail, or it could
// not be answered. Chosen: the heads and tails of all templates are shorter than this.
inline constexpr std::size_t kLeastAnswerTokens = 16;

// Whether replace_message() takes it: the user's, not forgotten, and no part of a document.
bool can_be_corrected(const SessionMessage& message);

struct TranscriptOptions {
  const Tokenizer& tokenizer;
  const ChatTemplate& chat_template;
  std::size_t n_vocabulary = 0;   // of the model
  std::size_t n_context = 0;      // likewise
  std::string model_fingerprint;  // messages of its time without a tokenizer hash are ours
  std::optional<std::string> system;
  TextMarks system_marks = {};
  Thinking thinking = Thinking::automatic;
  Journal* journal = nullptr;
  ChatId chat;
};

class Transcript {
 public:
  explicit Transcript(TranscriptOptions options) : options_(std::move(options)) {}

  // Each commits in one transaction, behind the system message where none was written yet.
  //   errors  CONTEXT_FULL: it and an answer do not fit the context, and nothing was committed.
  //           Where the chat goes on beyond it: the message alone doesn't
  //           PARAM: a chat begins with a user's message; its system text is the options'
  Result<std::vector<MessageId>> add_messages(std::span<const MessageText> messages,
                                              BeyondContext beyond = BeyondContext::ends);
  Result<MessageId> add_user(std::string_view text, BeyondContext beyond = BeyondContext::ends);
  // `text` in place of one of the user's messages, as another version of it, with copies of all
  // that followed it and their marks, in one transaction. Their ids, that of the message first.
  //   errors  also PARAM: it can't be corrected
  Result<std::vector<MessageId>> replace_message(MessageId message, std::string_view text,
                                                 BeyondContext beyond);
  struct Document {
    std::string title;
    std::string_view text;
  };
  // Each with kNoted.
  Result<std::vector<DocumentIds>> add_documents(std::span<const Document> documents,
                                                 BeyondContext beyond,
                                                 const std::stop_token& stop = {});
  // A document and a question about it.
  struct Asked {
    DocumentIds document;
    MessageId question;
  };
  Result<Asked> add_asked(const Document& document, std::string_view question,
                          BeyondContext beyond);

  // What makes the model answer, the closing of a cut answer before it included.
  Result<std::vector<TokenId>> answer_head() const;
  Result<std::vector<TokenId>> answer_tail() const;  // of the answer that streams
  // Closes a cut answer: empty where there is none.
  Result<std::vector<TokenId>> closing() const;
  Result<void> begin_answer(std::span<const TokenId> head);
  Result<void> extend_answer(std::string_view text, std::span<const TokenId> tokens);
  Result<void> finish_answer(MessageState state, std::string_view text,
                             std::span<const TokenId> tokens);

  // Commits what an answer still owes the journal after an error. Until then the journal is behind
  // tokens().
  Result<void> settle();

  // Of the answers to come, and of what begins a chat.
  void set_thinking(Thinking thinking) { options_.thinking = thinking; }
  Thinking thinking() const { return options_.thinking; }
  AnswerReader answer_reader() const;  // for the answer that comes next

  // Forgets messages behind token `end`, where one ends. The journal is the caller's business, or
  // (lets_journal_follow) learns it with the next message that is added, in one transaction.
  void truncate(std::size_t end, bool lets_journal_follow = false);
  // As a journal has them, with the ids that the cache has seen: of one that came back damaged not
  // those that were stored.
  Result<std::vector<StoredMessage>> stored() const;
  // Into an empty transcript, what stored() of another one gave.
  //   errors  CHAT_DAMAGED: a token is none of the model's
  Result<void> restore(std::span<const StoredMessage> messages);

  // From the journal, into an empty transcript (transcript_load.cpp). An answer that still streams
  // there was cut off by the end of its process: it is committed as interrupted. The text of a
  // message of another tokenizer is made into ids anew. A damaged message leaves only what the
  // template needs in its place. With the marks.
  struct Loaded {
    std::size_t n_anew = 0, n_damaged = 0;
  };
  Result<Loaded> load();
  // The same in place of what is here, which stays after an error.
  //   needs  settle()
  Result<Loaded> load_again();

  std::span<const TokenId> tokens() const { return tokens_; }
  std::span<const SessionMessage> messages() const { return messages_; }
  // Of all messages, kept in the journal's note; pin and forget are made in the cache by others.
  const Marks& marks() const { return marks_; }
  Result<void> set_marks(Marks marks);
  bool empty() const { return messages_.empty(); }
  // Whether messages were cut here that the journal still has.
  bool is_ahead_of_journal() const { return journal_follows_.has_value(); }
  // Tokens that a message and its answer may have.
  std::size_t n_context_left(BeyondContext beyond = BeyondContext::ends) const;
  Result<SessionMessage> find(MessageId id) const;  // MESSAGE_NOT_FOUND
  const char* kept_text() const { return runtime::kept_text(options_.journal); }

 private:
  bool cut_off() const;  // the last message is an answer that nothing closed
  // The system message, if it is to be written, then the user's. Not committed yet, nor are those
  // before it.
  Result<std::vector<StoredMessage>> draft(const TurnText& text,
                                           std::span<const StoredMessage> before) const;
  // An answer that was not made here.
  Result<StoredMessage> draft_answer(std::string_view text, const TurnText& written,
                                     std::span<const TokenId> before) const;
  Result<std::vector<StoredMessage>> draft_document(const Document& document,
                                                    std::span<const StoredMessage> before) const;
  // Into the journal, behind what is here.
  Result<std::vector<MessageId>> store(std::span<const NewMessage> rows,
                                       const NoteBeside* note = nullptr);
  Result<std::vector<MessageId>> commit(std::span<const StoredMessage> draft,
                                        const NoteBeside* note = nullptr);
  Result<void> check_fits(std::span<const StoredMessage> draft, BeyondContext beyond) const;
  // `message` with its place in tokens_ filled in.
  void append(SessionMessage message, std::span<const TokenId> tokens);
  void extend(std::string_view text, std::span<const TokenId> tokens);
  void take(Transcript&& other);  // what it holds, in place of what is here
  // Of the system message, and of a user's; system: with the first turn what the chat began with.
  Result<std::vector<TokenId>> system_tokens(const std::optional<TurnText>& system) const;
  Result<std::vector<TokenId>> user_tokens(const TurnText& text,
                                           std::optional<std::string_view> system,
                                           std::optional<TokenId> last) const;
  // With more behind it; none: there is nothing yet.
  std::optional<TokenId> last_token(std::span<const TokenId> more = {}) const;
  bool has_known_tokens(const StoredMessage& message) const;
  bool is_ours(const StoredMessage& message) const;
  static std::string hash_of(const StoredMessage& message);  // SessionMessage::text_hash
  // The ids of a message's text, in its place behind tokens(). system: what the chat began with.
  Result<std::vector<TokenId>> made_anew(const StoredMessage& message,
                                         const std::optional<std::string_view>& system) const;
  Result<std::vector<TokenId>> in_place_of_damaged() const;
  TranscriptOptions options_;
  std::vector<TokenId> tokens_;
  std::vector<SessionMessage> messages_;
  Marks marks_;
  std::optional<MessageId> answer_;  // streams
  // Messages were cut here that the journal still has: its next one follows this; 0: is the first.
  std::optional<MessageId> journal_follows_;
  std::string owed_text_;
  std::vector<TokenId> owed_tokens_;
};

}  // namespace satchel::runtime
