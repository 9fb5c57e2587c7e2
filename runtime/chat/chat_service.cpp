#include "runtime/chat/chat_service.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/chat/chat_errors.h"
#include "runtime/chat/service_call.h"
#include "runtime/engine_state.h"

namespace satchel::runtime {

ChatService::ChatService(std::unique_ptr<ChatStore> store, EngineOptions options,
                         const Clock* clock)
    : store_(std::move(store)),
      clock_(clock != nullptr ? *clock : system_clock_),
      model_(std::move(options),
             [this] {
               for (auto& [handle, chat] : chats_) chat.let_go();
             }),
      read_speed_(store_.get()) {}

ChatService::~ChatService() {
  for (auto& [handle, chat] : chats_) chat.close(store_.get());
}

// However the model was lost, no front end may go on showing it.
void ChatService::tell_error(Running& running, ChatTask task, const Error& error) {
  if (engine() == nullptr && std::exchange(is_model_told_, false)) running.tell(ModelClosed{});
  // The CPU is for the model that is open: it helps no other.
  const bool is_anothers = std::exchange(running.is_anothers, false);
  running.tell(Failed{task, error, !is_anothers && cpu_would_help(error)});
}

void ChatService::check(Running& running, ChatTask task, const Result<void>& done) {
  if (!done.ok()) tell_error(running, task, done.error());
}

bool ChatService::cpu_would_help(const Error& error) const {
  return engine() != nullptr && engine()->is_gpu_failure(error);
}

const OpenChat* ChatService::chat(ChatHandle chat) const {
  const auto found = chats_.find(chat);
  return found == chats_.end() ? nullptr : &found->second;
}

Session* ChatService::session(ChatHandle handle) const {
  const OpenChat* open = chat(handle);
  return open == nullptr ? nullptr : open->session();
}

Result<ChatLibrary*> ChatService::library() {
  if (store_ == nullptr)
    return Error{ErrorKind::not_found, "CHAT_NOT_FOUND", "Chats are not saved here."};
  return &store_->library();
}

Result<OpenChat*> ChatService::find(ChatHandle chat) {
  const auto found = chats_.find(chat);
  if (found == chats_.end()) return no_chat();
  return &found->second;
}

Result<OpenChat::Host> ChatService::host() {
  if (engine() == nullptr) return no_model();
  return OpenChat::Host{store_.get(), *engine(), model_.path()};
}

std::optional<ChatHandle> ChatService::handle_of(ChatId chat) const {
  for (const auto& [handle, open] : chats_)
    if (open.is_saved() && open.id() == chat) return handle;
  return std::nullopt;
}

// --- models

// What people must know of the store, once.
void ChatService::tell_store(const Running& running) {
  if (store_ == nullptr || std::exchange(is_store_told_, true)) return;
  for (std::string& notice : store_->notices()) running.tell(Noticed{std::move(notice)});
  const auto purged = store_->purge_expired();
  if (!purged.ok()) running.tell(Failed{ChatTask::remove_chat, purged.error()});
}

Result<ModelFacts> ChatService::open_model(const std::string& path, const ChatCall& call) {
  return run<ModelFacts>(ChatTask::open_model, {}, call,
                         [&](Running& running) -> Result<ModelFacts> {
                           tell_store(running);
                           SATCHEL_TRY_ASSIGN(ModelFacts facts, load_model(path, running));
                           while (!chats_.empty()) close_now(chats_.begin()->first);
                           running.tell(ModelOpened{facts});
                           return facts;
                         });
}

// Chats have no session where there is another engine afterwards.
Result<ModelFacts> ChatService::load_model(const std::string& path, Running& running) {
  const ModelHolder::Outcome outcome = model_.open(path, {running.call.stop, progress_of(running)});
  if (!outcome.error) {
    is_model_told_ = true;
    engine()->state().read_ms_per_token = read_speed_.ms_per_token(engine()->fingerprint());
    return model_facts(*engine(), model_.path());
  }
  running.is_anothers = engine() != nullptr;
  if (outcome.came_back) {
    if (std::exchange(is_model_told_, true)) running.tell(ModelClosed{});
    running.tell(ModelSwitched{model_facts(*engine(), model_.path())});
    reopen_all(running);
    running.is_anothers = true;
  }
  return *outcome.error;
}

void ChatService::reopen_all(Running& running) {
  for (auto& [handle, chat] : chats_) {
    Running its{ChatTask::open_chat, handle, running.call};
    const auto reopened = reopen(chat, its);
    if (!reopened.ok()) tell_error(its, ChatTask::open_chat, reopened.error());
  }
}

// A chat goes on with the model it was held with: its tokens mean nothing to another.
Result<void> ChatService::switch_model_for(const Chat& chat, Running& running) {
  if (engine() != nullptr && engine()->fingerprint() == chat.setup.model_fingerprint) return {};
  if (engine() != nullptr && model_.path() == chat.setup.model_path) return {};  // file replaced
  std::error_code error;
  if (!std::filesystem::exists(chat.setup.model_path, error))
    return model_missing(chat.setup.model_path);
  SATCHEL_TRY_ASSIGN(const ModelFacts facts, load_model(chat.setup.model_path, running));
  while (!chats_.empty()) close_now(chats_.begin()->first);
  running.tell(ModelSwitched{facts});
  return {};
}

Result<CpuMove> ChatService::use_cpu(ChatHandle handle, const Sampling& sampling,
                                     const ChatCall& call) {
  return run<CpuMove>(ChatTask::use_cpu, handle, call, [&](Running& running) -> Result<CpuMove> {
    if (model_.path().empty()) return no_model();
    SATCHEL_TRY(model_.move_to_cpu({running.call.stop, progress_of(running)}));
    is_model_told_ = true;
    running.tell(ModelSwitched{model_facts(*engine(), model_.path())});
    CpuMove move;
    const auto found = chats_.find(handle);
    if (found == chats_.end()) return move;
    OpenChat& chat = found->second;
    const bool answers = chat.is_saved() && chat.unanswered.value != 0;
    // What was begun of the answer is made again, whole.
    if (answers) SATCHEL_TRY(store_->library().truncate(chat.id(), chat.unanswered));
    SATCHEL_TRY_ASSIGN(move.resumed, reopen(chat, running));
    if (answers) {
      SATCHEL_TRY_ASSIGN(move.answer, reply(chat, sampling, running));
    }
    return move;
  });
}

// --- the library

Result<std::vector<Chat>> ChatService::chats(const ChatCall& call, ChatFilter filter) {
  using Chats = std::vector<Chat>;
  return run<Chats>(ChatTask::list_chats, {}, call, [&](Running& running) -> Result<Chats> {
    Chats listed;
    if (store_ != nullptr) {
      SATCHEL_TRY_ASSIGN(listed, store_->library().chats(filter));
    }
    std::erase_if(listed, [](const Chat& chat) { return chat.n_messages == 0; });
    ChatsListed all{listed, filter};
    if (store_ != nullptr && filter == ChatFilter::removed) all.copies = store_->copies();
    running.tell(std::move(all));
    return listed;
  });
}

Result<std::vector<Found>> ChatService::search(const SearchQuery& query, const ChatCall& call) {
  using All = std::vector<Found>;
  return run<All>(ChatTask::search, {}, call, [&](Running& running) -> Result<All> {
    if (store_ == nullptr) return All();
    SATCHEL_TRY_ASSIGN(All all, store_->search(query));
    running.tell(PassagesFound{query.words, all});
    return all;
  });
}

Result<Chat> ChatService::rename(ChatId id, const std::string& title, const ChatCall& call) {
  return run<Chat>(ChatTask::rename_chat, {}, call, [&](Running& running) -> Result<Chat> {
    SATCHEL_TRY_ASSIGN(ChatLibrary* const chats, library());
    SATCHEL_TRY(chats->retitle_chat(id, title));
    SATCHEL_TRY_ASSIGN(const Chat chat, chats->chat(id));
    running.tell(ChatChanged{chat});
    return chat;
  });
}

Result<Chat> ChatService::remove(ChatId id, const ChatCall& call) {
  return run<Chat>(ChatTask::remove_chat, {}, call, [&](Running& running) -> Result<Chat> {
    SATCHEL_TRY_ASSIGN(ChatLibrary* const chats, library());
    SATCHEL_TRY_ASSIGN(const Chat chat, chats->chat(id));
    const auto open = handle_of(id);
    if (open && queue_.answers(*open)) return chat_is_open();
    SATCHEL_TRY(chats->remove_chat(id));
    if (open) close_now(*open);
    running.tell(ChatRemoved{chat});
    return chat;
  });
}

Result<Chat> ChatService::restore(ChatId id, const ChatCall& call) {
  return run<Chat>(ChatTask::restore_chat, {}, call, [&](Running& running) -> Result<Chat> {
    SATCHEL_TRY_ASSIGN(ChatLibrary* const chats, library());
    SATCHEL_TRY(chats->restore_chat(id));
    SATCHEL_TRY_ASSIGN(const Chat chat, chats->chat(id));
    running.tell(ChatChanged{chat});
    return chat;
  });
}

Result<void> ChatService::delete_now(ChatId id, const ChatCall& call) {
  return run<void>(ChatTask::remove_chat, {}, call, [&](Running&) -> Result<void> {
    SATCHEL_TRY_ASSIGN(ChatLibrary* const chats, library());
    SATCHEL_TRY_ASSIGN(const Chat chat, chats->chat(id));
    // One wrong id must not cost a chat.
    if (!chat.removed_ms)
      return Error{ErrorKind::invalid, "PARAM",
                   "Only a chat that was deleted before can be deleted for good."};
    const auto open = handle_of(id);
    if (open && queue_.answers(*open)) return chat_is_open();
    // Before: an open chat saves its cache once more.
    if (open) close_now(*open);
    return store_->delete_now(id);
  });
}

Result<void> ChatService::delete_copy(const std::string& name, const ChatCall& call) {
  return run<void>(ChatTask::remove_chat, {}, call, [&](Running&) -> Result<void> {
    SATCHEL_TRY(library());
    return store_->delete_copy(name);
  });
}

// --- open chats

ChatHandle ChatService::add(OpenChat chat, ChatHandle instead_of) {
  close_now(instead_of);
  const ChatHandle handle{++last_handle_};
  chats_.emplace(handle, std::move(chat));
  return handle;
}

void ChatService::close_now(ChatHandle handle) {
  const auto found = chats_.find(handle);
  if (found == chats_.end()) return;
  found->second.close(store_.get());
  chats_.erase(found);
}

void ChatService::close(ChatHandle chat) {
  const auto permit = wait_permit({}, {.chat = chat});
  if (permit.ok()) close_now(chat);
}

CallScope ChatService::scope_of(ChatTask task, ChatHandle chat) {
  const bool needs_all =
      task == ChatTask::open_model || task == ChatTask::use_cpu || task == ChatTask::change_memory;
  const bool no_cache = task == ChatTask::list_chats || task == ChatTask::search ||
                        task == ChatTask::rename_chat || task == ChatTask::restore_chat ||
                        task == ChatTask::prompts;
  return {.chat = chat, .all = needs_all, .hurries = task == ChatTask::send, .no_cache = no_cache};
}

Result<CallQueue::Permit> ChatService::wait_permit(const std::stop_token& stop,
                                                   const CallScope& scope) {
  return caught<CallQueue::Permit>([&] { return queue_.wait(stop, scope); });
}

Result<ChatHandle> ChatService::begin(ChatStart start, ChatHandle instead_of,
                                      const ChatCall& call) {
  return run<ChatHandle>(ChatTask::begin_chat, {}, {.chat = instead_of}, call,
                         [&](Running& running) -> Result<ChatHandle> {
                           if (engine() == nullptr) return no_model();
                           OpenChat chat(std::move(start));
                           SATCHEL_TRY(chat.suit(*engine()));
                           running.chat = add(std::move(chat), instead_of);
                           const OpenChat& begun = chats_.at(running.chat);
                           running.tell(ChatOpened{{}, begun.memory(), {}, begun.answers()});
                           return running.chat;
                         });
}

Result<void> ChatService::enter(ChatHandle chat, const ChatCall& call) {
  return run<void>(ChatTask::begin_chat, chat, call, [&](Running&) -> Result<void> {
    SATCHEL_TRY_ASSIGN(OpenChat* const open, find(chat));
    SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
    return open->enter(at, "", clock_.wall_ms());
  });
}

Result<OpenReport> ChatService::open(ChatId id, const OpenOptions& options, const ChatCall& call) {
  return run<OpenReport>(ChatTask::open_chat, options.instead_of,
                         {.chat = options.instead_of, .all = !options.keeps_model}, call,
                         [&](Running& running) -> Result<OpenReport> {
                           SATCHEL_TRY_ASSIGN(ChatLibrary* const chats, library());
                           SATCHEL_TRY_ASSIGN(const Chat saved, chats->chat(id));
                           const auto already = handle_of(id);
                           // One without a message would leave the store, making way.
                           if (already && (*already != options.instead_of ||
                                           !chats_.at(*already).is_kept(store_.get())))
                             return chat_is_open();
                           Result<OpenReport> opened = open_saved(saved, options, running);
                           if (!opened.ok() && opened.error().kind != ErrorKind::cancelled)
                             show_words(saved, running);
                           return opened;
                         });
}

Result<OpenReport> ChatService::open_saved(const Chat& saved, const OpenOptions& options,
                                           Running& running) {
  SATCHEL_TRY_ASSIGN(OpenChat chat, OpenChat::of(saved));
  chat.load_answers(store_->library());
  chat.choose(options.choices);
  chat.has_new_setup = options.keeps_model;
  // Read before anything is closed for it.
  SATCHEL_TRY_ASSIGN(const Shown shown, shown_of(chat));
  if (!options.keeps_model) SATCHEL_TRY(switch_model_for(saved, running));
  if (options.choices.recipe && engine() != nullptr) SATCHEL_TRY(chat.suit(*engine()));
  running.chat = add(std::move(chat), options.instead_of);
  shown.tell(running);
  OpenReport opened{running.chat, resume(chats_.at(running.chat), running)};
  if (!opened.resumed.ok()) tell_error(running, ChatTask::open_chat, opened.resumed.error());
  return opened;
}

// Words need no model. Where they cannot be read either, why the chat did not open is said.
void ChatService::show_words(const Chat& saved, const Running& running) {
  auto messages = store_->library().messages(saved.id);
  if (!messages.ok()) return;
  running.tell(ChatShown{saved, with_whole_documents(std::move(*messages)).messages});
}

Result<ChatService::Shown> ChatService::shown_of(const OpenChat& chat) {
  Shown shown{
      .opened = {.chat = {}, .memory = chat.memory(), .messages = {}, .answers = chat.answers()},
      .parts = {}};
  if (!chat.is_saved()) return shown;
  SATCHEL_TRY_ASSIGN(shown.opened.chat, store_->library().chat(chat.id()));
  SATCHEL_TRY_ASSIGN(auto messages, store_->library().messages(chat.id()));
  WholeDocuments whole = with_whole_documents(std::move(messages));
  shown.opened.messages = std::move(whole.messages);
  shown.parts = std::move(whole.parts);
  return shown;
}

void ChatService::Shown::tell(const Running& running) const {
  running.tell(opened);
  for (const DocumentParts& document : parts) running.tell(document);
}

Result<std::optional<ResumeReport>> ChatService::reopen(OpenChat& chat, Running& running) {
  SATCHEL_TRY_ASSIGN(const Shown shown, shown_of(chat));
  shown.tell(running);
  if (!chat.is_saved()) return std::optional<ResumeReport>();
  return resume(chat, running);
}

Result<std::optional<ResumeReport>> ChatService::resume(OpenChat& chat, Running& running) {
  SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
  DecodeGroup::Reader reader(answers_);
  Result<std::optional<ResumeReport>> resumed =
      chat.resume(at, running.call.stop, progress_of(running, [&reader] { reader.make_way(); }));
  // Stopped, it has its session all the same, and goes on with these settings.
  if (chat.session() != nullptr) check(running, ChatTask::keep_settings, chat.keep_new_setup(at));
  SATCHEL_TRY_ASSIGN(std::optional<ResumeReport> report, std::move(resumed));
  if (!report) return report;
  tell_resumed(chat, *report, running);
  if (report->n_reread > 0) save_now(chat, running);
  return report;
}

void ChatService::tell_resumed(OpenChat& chat, ResumeReport& report, Running& running) {
  if (report.too_long) running.tell(ContextEnded{});
  running.tell(report);
  tell_thoughts(chat, running);
  tell_versions(chat, running, /*also_none=*/false);
  tell_marks(chat, running, /*also_none=*/false);
  tell_cache(chat, running);
}

Result<OpenChat*> ChatService::find_resumed(Running& running) {
  if (engine() == nullptr) return no_chat();
  SATCHEL_TRY_ASSIGN(OpenChat* const chat, find(running.chat));
  if (chat->is_saved() && chat->session() == nullptr) SATCHEL_TRY(resume(*chat, running));
  return chat;
}

}  // namespace satchel::runtime
