// Conversation: the one chat that a command talks in: a thin client of ChatService, made from the
// options of the command line.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/console.h"
#include "app/cli/options.h"
#include "runtime/chat/chat_service.h"
#include "storage/store.h"

namespace satchel::app {

struct ConversationRequest {
  std::string name;  // of the chat; "" with keep: a new one named by date and time
  bool keep = true;  // false: nothing goes to disk
  std::uint64_t cache_quota = storage::kQuotaBytes;
  std::uint64_t thin_after_days = 0;
  bool must_exist = false;            // CHAT_NOT_FOUND instead of a new chat
  std::optional<std::string> system;  // system prompt of a new chat
  runtime::Thinking thinking = runtime::Thinking::automatic;
  runtime::ChatSink sink = {};  // gets all events, beside what the console shows of them
  // Asked where the GPU fails, or is full, while the chat is opened: whether to go on with the CPU.
  // is_kept: Conversation::is_kept(). Empty: not asked, and not done. Only with keep.
  std::function<bool(const Error&, bool is_kept)> wants_cpu = {};
};

class Conversation {
 public:
  // Opens or begins the chat; a saved one is resumed (read again where its cache cannot be
  // trusted). Where --model or --recipe are not given, a saved chat goes on with its own.
  //   errors  MODEL_MISSING: the model of a saved chat is gone
  static Result<std::unique_ptr<Conversation>> open(const Options& options,
                                                    const ConversationRequest& request,
                                                    Console& console);

  // Not after start_over() or use_cpu() failed: then nothing is left to go on with.
  bool has_session() const { return service_->session(chat_) != nullptr; }
  // Whether use_cpu() would help.
  bool is_gpu_failure(const Error& error) const { return service_->cpu_would_help(error); }
  // Whether it is in the library for good: it was there before, or has a message.
  bool is_kept() const;
  runtime::Session& session() { return *service_->session(chat_); }
  runtime::Engine& engine() { return *service_->engine(); }
  runtime::ChatStore* store() { return service_->store(); }
  const std::string& name() const { return service_->chat(chat_)->name(); }
  // What the chat itself says of its answers; the defaults where there is no chat (any more).
  runtime::AnswerSettings answers() const;
  const std::optional<runtime::ResumeReport>& resumed() const { return resumed_; }

  // For calls on the service: Ctrl-C stops them, the console shows their progress.
  runtime::ChatService& service() { return *service_; }
  runtime::ChatHandle chat() const { return chat_; }
  runtime::ChatCall call() const;

  // The error that a document's reading ended with, with what became of the document.
  Error unread(Error why) const;
  // On with the CPU after the GPU failed: the chat as it was saved, and the answer to a message
  // that had no whole one; a chat that could not begin begins.
  //   needs   a chat that is kept
  Result<std::optional<runtime::GenerateReport>> use_cpu(const runtime::Sampling& sampling);
  // A new, empty chat with the same settings.
  Result<void> start_over();

 private:
  Result<void> open_chat(const Options& options, const ConversationRequest& request);
  Result<void> open_model(const Options& options, const runtime::Chat* saved);
  Result<void> open_saved(const runtime::Chat& saved, const Options& options);
  Result<void> begin(const ConversationRequest& request);
  // `failed` is what opening came to: goes on with the CPU where that is wanted.
  Result<void> or_with_cpu(Result<void> failed, const ConversationRequest& request);

  Console* console_ = nullptr;
  runtime::ChatSink sink_;
  std::unique_ptr<runtime::ChatStore> opened_store_;  // until the service has it
  std::unique_ptr<runtime::ChatService> service_;
  std::optional<runtime::ChatStart> start_;  // of the chats begun here
  std::string model_path_;
  runtime::ChatHandle chat_;
  std::optional<runtime::ResumeReport> resumed_;
};

// "Resumed 31,904 tokens in 0.21 s; rereading them would take about 58 s.", or why they were
// reread.
std::string describe(const runtime::ResumeReport& report);

}  // namespace satchel::app
