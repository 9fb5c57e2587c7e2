// Conversation: a chat of the user's library opened for talking: store, engine and session, in the order they need.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/console.h"
#include "app/cli/options.h"
#include "runtime/engine.h"
#include "storage/store.h"

namespace satchel::app {

struct ConversationRequest {
  std::string name;                   // of the chat; "" with keep: a new one named by date and time
  bool keep = true;                   // false: nothing goes to disk
  bool must_exist = false;            // CHAT_NOT_FOUND instead of a new chat
  std::optional<std::string> system;  // system prompt of a new chat
  runtime::Thinking thinking = runtime::Thinking::automatic;
  // Asked where the GPU fails, or is full, while the chat is opened: whether to go on with the CPU.
  // is_kept: Conversation::is_kept(). Empty: not asked, and not done. Only with keep.
  std::function<bool(const Error&, bool is_kept)> wants_cpu = {};
};

class Conversation {
 public:
  // Opens or begins the chat; a saved one is resumed (read again where its cache cannot be trusted).
  // Where --model or --recipe are not given, a saved chat goes on with its own.
  //   errors  MODEL_MISSING: the model of a saved chat is gone
  static Result<std::unique_ptr<Conversation>> open(const Options& options,
                                                    const ConversationRequest& request,
                                                    Console& console);
  // A chat that was begun here and got no message does not stay in the library.
  ~Conversation();

  // Not after start_over() or move_to_cpu() failed: then nothing is left to go on with.
  bool has_session() const { return session_ != nullptr; }
  // Whether move_to_cpu() would help.
  bool could_be_the_gpus(const Error& error) const {
    return engine_ != nullptr && engine_->could_be_the_gpus(error);
  }
  // Whether it is in the library for good: it was there before, or has a message.
  bool is_kept() const;
  runtime::Session& session() { return *session_; }
  runtime::Engine& engine() { return *engine_; }
  storage::Store* store() { return store_.get(); }
  const std::string& name() const { return name_; }
  kvcache::ChatId chat() const { return chat_; }
  const std::optional<runtime::ResumeReport>& resumed() const { return resumed_; }

  // Puts the cache on disk, if anything is kept. A failure is a warning: the words are safe.
  void save(Console& console);
  // Of reading a document that broke off: where it was stopped, what was read is put on disk and the
  // error says what became of the document. Other errors stay as they are.
  Error unread(Error why, Console& console);
  // Another limit or recipe, which the chat is opened with from now on.
  Result<runtime::MemoryChange> change_memory(const runtime::MemoryWish& wish, Console& console);
  // Of the answers to come, here and after start_over().
  Result<void> set_thinking(runtime::Thinking thinking);
  // On with the CPU after the GPU failed: the chat as it was saved, what its cache lacks is read
  // again. After an error has_session() is false.
  //   needs   a chat that is kept
  //   last    what comes behind this message goes, once the CPU has the model; 0: nothing goes
  Result<void> move_to_cpu(Console& console, kvcache::MessageId last = {});
  // A new, empty chat with the same settings.
  Result<void> start_over();

 private:
  Result<void> open_chat(const Options& options, const ConversationRequest& request,
                         Console& console);
  Result<void> open_library(const Paths& paths, Console& console);
  Result<void> begin(const ConversationRequest& request, Console& console);
  Result<void> open_session();
  void drop_if_empty(kvcache::ChatId begun);
  Result<void> resume(Console& console);
  Options options_;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<runtime::Engine> engine_;
  std::unique_ptr<runtime::Session> session_;
  std::optional<kvcache::Recipe> recipe_;
  storage::ChatSetup setup_;
  std::string name_;
  kvcache::ChatId chat_;
  runtime::Thinking thinking_ = runtime::Thinking::automatic;
  bool is_new_ = false;
  std::optional<runtime::ResumeReport> resumed_;
};

// "Resumed 31,904 tokens in 0.21 s; reading them again would take about 58 s.", or why they were read again.
std::string describe(const runtime::ResumeReport& report);

}  // namespace satchel::app
