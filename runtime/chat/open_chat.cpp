#include "runtime/chat/open_chat.h"

#include <algorithm>
#include <utility>

#include "runtime/chat/chat_errors.h"
#include "runtime/chat/chat_title.h"

namespace satchel::runtime {

Result<OpenChat> OpenChat::of(const Chat& saved) {
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, kvcache::Recipe::parse(saved.setup.recipe_json));
  OpenChat chat({.memory = {std::move(recipe), saved.setup.budget_bytes},
                 .name = saved.name,
                 .system = saved.setup.system});
  chat.id_ = saved.id;
  chat.name_ = saved.name;
  return chat;
}

Result<void> OpenChat::make_session(const Host& host) {
  SessionOptions options(start_.memory.recipe);
  options.budget_bytes = start_.memory.limit_bytes;
  options.system = start_.system;
  options.system_marks = start_.system_marks;
  options.thinking = start_.thinking;
  options.beyond = start_.beyond;
  options.chat = id_;
  if (host.store != nullptr) {
    options.journal = &host.store->library();
    options.records = host.store->records();
  }
  session_.reset();
  SATCHEL_TRY_ASSIGN(session_, host.engine.new_session(options));
  if (!start_.beyond) return {};
  return session_->set_beyond(*start_.beyond);  // options alone are not kept with the chat
}

void OpenChat::choose(const ChatChoices& choices) {
  start_.memory =
      with_request(start_.memory, {.limit_bytes = choices.limit_bytes, .recipe = choices.recipe});
  start_.thinking = choices.thinking;
  if (choices.beyond) start_.beyond = choices.beyond;
}

Result<void> OpenChat::suit(const Engine& engine) {
  SATCHEL_TRY_ASSIGN(start_.memory.recipe, engine.suited(start_.memory.recipe));
  return {};
}

Result<void> OpenChat::make_row(const Host& host, const std::string& title, std::int64_t wall_ms) {
  if (host.store == nullptr) return {};
  const NameTaken taken = start_.name.empty() ? NameTaken::number : NameTaken::refuse;
  std::string name = start_.name.empty() ? title : start_.name;
  if (name.empty()) name = name_by_date(wall_ms);
  ChatLibrary& library = host.store->library();
  SATCHEL_TRY_ASSIGN(
      id_, library.create_chat(
               {.name = name, .title = title.empty() ? name : title, .setup = setup(host)}, taken));
  is_entered_here_ = true;
  if (!is_same(start_.sampling, {})) SATCHEL_TRY(keep_answers(library));
  SATCHEL_TRY_ASSIGN(const Chat row, library.chat(id_));
  name_ = row.name;
  return {};
}

Result<void> OpenChat::enter(const Host& host, const std::string& title, std::int64_t wall_ms) {
  if (session_) return {};
  if (is_lost_) return chat_lost();
  SATCHEL_TRY(make_row(host, title, wall_ms));
  const Result<void> made = make_session(host);
  // Why there is no session is what counts: a chat without messages is never listed.
  if (!made.ok()) (void)leave(host);
  return made;
}

Result<OpenChat> OpenChat::branch(const Host& host, std::int64_t wall_ms,
                                  std::optional<MessageId> last) {
  ChatStart start = start_;
  start.name = "";
  start.beyond = session_->beyond();
  OpenChat out(std::move(start));
  SATCHEL_TRY(out.make_row(host, name_, wall_ms));
  Result<std::unique_ptr<Session>> forked = session_->fork(out.id_, last);
  if (forked.ok()) out.session_ = std::move(*forked);
  Result<void> made = forked.ok() ? out.session_->set_beyond(*out.start_.beyond) : forked.error();
  if (made.ok()) return out;
  (void)out.leave(host);
  return std::move(made).error();
}

Result<void> OpenChat::leave(const Host& host) {
  session_.reset();
  is_entered_here_ = false;
  if (host.store == nullptr) return {};
  return host.store->delete_now(std::exchange(id_, {}));
}

Result<std::optional<ResumeReport>> OpenChat::resume(const Host& host, const std::stop_token& stop,
                                                     const ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(const auto messages, host.store->library().messages(id_));
  SATCHEL_TRY(make_session(host));
  if (messages.empty()) return std::optional<ResumeReport>();
  Result<ResumeReport> report = session_->resume(stop, progress);
  if (report.ok()) return std::optional(std::move(*report));
  // Nobody may write to half a chat.
  if (report.error().kind != ErrorKind::cancelled) session_.reset();
  return std::move(report).error();
}

Result<std::string> OpenChat::to_bytes(const Host& host) {
  ChatBytesWriter writer;
  SATCHEL_TRY_ASSIGN(ChatCopy copy, session_->copy_to(writer));
  copy.setup = setup(host);
  return writer.finish(copy);
}

Result<OpenChat> OpenChat::of(const ChatCopy& copy, std::string_view name) {
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, kvcache::Recipe::parse(copy.setup.recipe_json));
  return OpenChat({.memory = {std::move(recipe), copy.setup.budget_bytes},
                   .name = std::string(name),
                   .system = copy.setup.system});
}

Result<ResumeReport> OpenChat::resume_copy(const Host& host, ChatBytesReader& bytes,
                                           std::int64_t wall_ms, const std::stop_token& stop,
                                           const ProgressFn& progress) {
  const auto& messages = bytes.copy().messages;
  const auto first = std::ranges::find(messages, Role::user, &StoredMessage::role);
  SATCHEL_TRY(enter(host, first == messages.end() ? "" : title_from(first->text), wall_ms));
  const auto resume = [&] { return session_->resume_copy(bytes.copy(), bytes, stop, progress); };
  Result<ResumeReport> report = caught<ResumeReport>(resume);
  // Why it did not come back is what counts.
  if (!report.ok()) (void)leave(host);
  return report;
}

void OpenChat::let_go() {
  if (session_ && !is_saved()) is_lost_ = !session_->messages().empty();
  session_.reset();
}

void OpenChat::close(ChatStore* store) {
  session_.reset();
  // Nobody asks for the result; what a library throws must not reach who closes a chat either.
  (void)caught<void>([&] {
    return is_entered_here_ && !is_kept(store) ? store->delete_now(id_) : Result<void>();
  });
}

bool OpenChat::is_kept(ChatStore* store) const {
  if (store == nullptr || !is_saved()) return false;
  if (!is_entered_here_) return true;
  const auto messages = store->library().messages(id_);
  return !messages.ok() || !messages->empty();
}

Result<MemoryChange> OpenChat::preview(const MemoryRequest& request, const std::stop_token& stop) {
  if (!session_ && is_saved()) return memory_not_open();
  if (!session_) return MemoryChange{};
  return session_->preview_memory(request, stop);
}

Result<MemoryChange> OpenChat::change(const MemoryRequest& request, const std::stop_token& stop,
                                      const ProgressFn& progress) {
  Result<MemoryChange> change = MemoryChange{};
  const std::size_t limit_before = session_ ? session_->stats().arena_bytes : 0;
  if (session_) change = session_->change_memory(request, stop, progress);
  start_.memory = change.ok() ? with_request(start_.memory, request)
                              : after_failure(start_.memory, request, *session_, limit_before);
  return change;
}

Result<void> OpenChat::keep_answers(ChatLibrary& library) const {
  return library.set_note(id_, kAnswersNote, to_note(start_.sampling));
}

// A system prompt stands before all that was read: it would have to be read again.
Result<void> OpenChat::set_answers(const Host& host, const AnswerSettings& answers) {
  SATCHEL_TRY(check(answers.sampling));
  const bool has_other_system = answers.system != start_.system;
  if (has_other_system && (is_saved() || session_))
    return Error{ErrorKind::invalid, "PARAM",
                 "The system prompt stands before everything that was read, so it cannot change in "
                 "a chat with messages. Begin a new chat with it."};
  const Sampling before = std::exchange(start_.sampling, answers.sampling);
  const Result<void> kept =
      is_saved() && host.store != nullptr ? keep_answers(host.store->library()) : Result<void>();
  if (!kept.ok()) {
    start_.sampling = before;
    return kept;
  }
  start_.system = answers.system;
  return {};
}

void OpenChat::load_answers(ChatLibrary& library) {
  const auto note = library.note(id_, kAnswersNote);
  if (!note.ok() || !*note) return;
  if (const Result<Sampling> kept = sampling_from_note(**note); kept.ok()) start_.sampling = *kept;
}

Result<void> OpenChat::set_thinking(Thinking thinking) {
  if (session_) SATCHEL_TRY(session_->set_thinking(thinking));
  start_.thinking = thinking;
  return {};
}

Result<void> OpenChat::set_beyond(BeyondContext beyond) {
  if (session_) SATCHEL_TRY(session_->set_beyond(beyond));
  start_.beyond = beyond;
  return {};
}

Result<void> OpenChat::keep_new_setup(const Host& host) {
  if (!has_new_setup) return {};
  SATCHEL_TRY(host.store->library().set_setup(id_, setup(host)));
  has_new_setup = false;
  return {};
}

ChatSetup OpenChat::setup(const Host& host) const {
  return {.model_fingerprint = host.engine.fingerprint(),
          .model_path = host.model_path,
          .recipe_json = start_.memory.recipe.json(),
          .budget_bytes = start_.memory.limit_bytes,
          .system = start_.system};
}

}  // namespace satchel::runtime
