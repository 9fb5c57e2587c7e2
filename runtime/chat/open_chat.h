// OpenChat: one chat that is open: its place in the store, its settings, and its session once it
// has one.
//   states   new -> enter() -> entered, without a message -> has messages; leave() takes enter()
//            back saved (in the store, no session) -> resume() -> has messages
//            let_go(): the session goes with its engine; a saved chat can be resumed again, one
//            that is not kept is lost
//   owns     its Session, which uses engine and store: both outlive it
//   errors   the store's and the session's; CHAT_LOST
//   threads  one call at a time
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/chat/answer_settings.h"
#include "runtime/chat/memory_settings.h"
#include "runtime/chat_bytes/chat_bytes.h"
#include "runtime/contract/chat_store.h"
#include "runtime/engine.h"

namespace satchel::runtime {

struct ChatStart {
  MemorySettings memory;
  std::string name = {};                   // "": by its first message, or by the date
  std::optional<std::string> system = {};  // system prompt; none: the template's own
  Sampling sampling = {};                  // of its answers, where a call has no other
  TextMarks system_marks = {};             // in it; a chat that is opened again has its tokens
  Thinking thinking = Thinking::automatic;
  std::optional<BeyondContext> beyond = {};  // none: as its recipe has it, or was chosen before
};
// In place of what a saved chat has.
struct ChatChoices {
  std::optional<kvcache::Recipe> recipe = {};
  std::size_t limit_bytes = 0;  // 0: its own
  Thinking thinking = Thinking::automatic;
  std::optional<BeyondContext> beyond = {};  // none: its own
};

class OpenChat {
 public:
  struct Host {
    ChatStore* store;  // nullptr: nothing is kept
    Engine& engine;
    const std::string& model_path;
  };

  explicit OpenChat(ChatStart start) : start_(std::move(start)) {}
  static Result<OpenChat> of(const Chat& saved);

  // Makes its row in the store, and a session. A name that the caller did not choose gets a number
  // if it is taken. Does nothing if there is a session.
  //   title  for people; "": as its name
  Result<void> enter(const Host& host, const std::string& title, std::int64_t wall_ms);
  Result<void> leave(const Host& host);
  // Its recipe as the model is to have it.
  Result<void> suit(const Engine& engine);
  // A session over the chat's messages; no report where there are none. After an error there is no
  // session, unless Stop ended it: then the words are loaded and not all of them are read.
  Result<std::optional<ResumeReport>> resume(const Host& host, const std::stop_token& stop,
                                             const ProgressFn& progress);
  // The chat as bytes: runtime/chat_bytes.
  //   needs  session()
  Result<std::string> to_bytes(const Host& host);
  // A chat made from a copy, and its session; a row of its own. After an error nothing is left.
  static Result<OpenChat> of(const ChatCopy& copy, std::string_view name);
  Result<ResumeReport> resume_copy(const Host& host, ChatBytesReader& bytes, std::int64_t wall_ms,
                                   const std::stop_token& stop, const ProgressFn& progress);
  // A second chat over the same conversation, with a row of its own.
  //   needs  session()
  Result<OpenChat> branch(const Host& host, std::int64_t wall_ms,
                          std::optional<MessageId> last = {});
  void let_go();
  // A chat that was entered here and got no message does not stay in the store. A failure leaves an
  // empty chat there, which is never listed.
  void close(ChatStore* store);

  // What another limit or recipe would do. Without a session nothing: the chat begins with them.
  Result<MemoryChange> preview(const MemoryRequest& request, const std::stop_token& stop);
  // Continues with them. After an error memory() says what the session has: perhaps one of them or
  // both all the same, with text still to be read.
  Result<MemoryChange> change(const MemoryRequest& request, const std::stop_token& stop,
                              const ProgressFn& progress);
  // From now on, kept with the chat.
  //   errors  invalid, PARAM: a number is out of range, or the system prompt is another and the
  //           chat has messages. Nothing has changed then
  Result<void> set_answers(const Host& host, const AnswerSettings& answers);
  // Of a saved chat, before it is resumed; what cannot be read is the default.
  void load_answers(ChatLibrary& library);
  AnswerSettings answers() const { return {start_.system, start_.sampling}; }
  Result<void> set_thinking(Thinking thinking);
  Result<void> set_beyond(BeyondContext beyond);  // kept with the chat
  // Saves what the chat is opened with from now on, if that has changed.
  Result<void> keep_new_setup(const Host& host);
  // Before it is resumed. The store gets them once the chat has been opened with them.
  void choose(const ChatChoices& choices);

  ChatId id() const { return id_; }  // 0: not in the store
  bool is_saved() const { return id_.value != 0; }
  // Whether it is in the store for good: it was there before, or has a message.
  bool is_kept(ChatStore* store) const;
  // Its name in the store; of a new chat the requested one.
  const std::string& name() const { return is_saved() ? name_ : start_.name; }
  const MemorySettings& memory() const { return start_.memory; }
  Thinking thinking() const { return start_.thinking; }
  Session* session() const { return session_.get(); }  // nullptr: none
  // Its session could go on beyond the model's context and does not.
  bool ends_at_context() const { return session_ && session_->beyond() == BeyondContext::ends; }
  // The last question, while it has no whole answer.
  MessageId unanswered = {};
  // What it is opened with is not in the store yet.
  bool has_new_setup = false;
  // A stop ended the last save: the chat is saved with the next call, or while idle.
  bool owes_save = false;

 private:
  Result<void> make_row(const Host& host, const std::string& title, std::int64_t wall_ms);
  Result<void> make_session(const Host& host);
  Result<void> keep_answers(ChatLibrary& library) const;
  ChatSetup setup(const Host& host) const;

  ChatStart start_;
  ChatId id_;
  std::string name_;  // in the store
  bool is_entered_here_ = false, is_lost_ = false;
  std::unique_ptr<Session> session_;
};

}  // namespace satchel::runtime
