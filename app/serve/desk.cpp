#include "app/serve/desk.h"

#include <algorithm>
#include <utility>

#include "runtime/limits/presets.h"

namespace satchel::serve {
namespace {

Error no_session(const std::string& id) {
  return {ErrorKind::not_found, "SESSION_NOT_FOUND", "There is no session \"" + id + "\"."};
}

}  // namespace

using runtime::ChatCall;
using runtime::Role;

bool Desk::lacks_memory(const Error& error) {
  return error.kind == ErrorKind::out_of_memory && error.code != "CONTEXT_FULL";
}

Desk::Desk(runtime::ChatService& service, runtime::ChatStart start, Metrics& metrics)
    : service_(service),
      start_(std::move(start)),
      metrics_(metrics),
      idle_([this](const std::stop_token& stop) { work_while_idle(stop); }) {}

Desk::~Desk() {
  idle_.request_stop();
  idle_.join();
  for (KnownChat& chat : chats_) close(chat);
}

// --- the chats

Result<void> Desk::load() {
  if (service_.store() == nullptr) return {};
  SATCHEL_TRY_ASSIGN(const std::vector<runtime::Chat> rows, service_.chats());
  for (const runtime::Chat& row : rows) {
    KnownChat chat;
    read_name(row.name, chat);
    chat.system = row.setup.system;
    chat.recipe = row.setup.recipe_json;
    chat.saved = row.id;
    SATCHEL_TRY_ASSIGN(const auto messages, service_.store()->library().messages(row.id));
    for (const runtime::StoredMessage& message : messages)
      if (message.role != Role::system)
        chat.said.push_back({.role = message.role, .text = message.text, .knows_marks = false});
    chats_.push_front(std::move(chat));  // the one used last is listed first
    chats_.front().used = 0;
  }
  for (KnownChat& chat : chats_) chat.used = ++n_uses_;
  metrics_.chats_known = chats_.size();
  return {};
}

KnownChat* Desk::known(const std::string& session) {
  const auto found = std::ranges::find(chats_, session, &KnownChat::id);
  return found == chats_.end() ? nullptr : &*found;
}

Result<KnownChat*> Desk::find(const std::string& session) {
  if (KnownChat* const chat = known(session)) return chat;
  return no_session(session);
}

Result<KnownChat*> Desk::find_open(const std::string& session, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(KnownChat* const chat, find(session));
  SATCHEL_TRY(open(*chat, stop));
  return chat;
}

Result<kvcache::Recipe> Desk::recipe_of(const ChatRequest& request) const {
  if (request.recipe.empty()) return service_.engine()->suited(start_.memory.recipe);
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(request.recipe));
  return service_.engine()->suited(recipe);
}

bool Desk::close_least_used(const KnownChat* but) {
  KnownChat* least = nullptr;
  for (KnownChat& chat : chats_)
    if (chat.is_open() && !chat.is_taken && &chat != but &&
        (least == nullptr || chat.used < least->used))
      least = &chat;
  if (least == nullptr) return false;
  ++metrics_.chats_closed;
  close(*least);
  if (least->saved.value == 0) forget(*least);
  return true;
}

void Desk::close(KnownChat& chat) {
  if (chat.is_open()) service_.close(std::exchange(chat.handle, {}));
  chat.ids.clear();
}

void Desk::forget(KnownChat& chat) {
  close(chat);
  std::erase_if(chats_, [&](const KnownChat& one) { return &one == &chat; });
  metrics_.chats_known = chats_.size();
}

Result<void> Desk::remove(KnownChat& chat) {
  close(chat);
  if (chat.saved.value != 0)  // a chat that answers writes to the store, too
    SATCHEL_TRY(look({}, [&] { return service_.store()->delete_now(chat.saved); }));
  forget(chat);
  return {};
}

Result<void> Desk::put_away(KnownChat& chat, const std::stop_token& stop) {
  if (chat.saved.value != 0) {
    const auto removed = service_.remove(chat.saved, {stop, {}});
    if (!removed.ok()) return removed.error();
    chat.handle = {};  // it closed it
  }
  forget(chat);
  return {};
}

Result<runtime::ResumeReport> Desk::open(KnownChat& chat, const std::stop_token& stop) {
  chat.used = ++n_uses_;
  if (chat.is_open()) return runtime::ResumeReport{};
  SATCHEL_TRY_ASSIGN(
      const runtime::OpenReport opened, with_room(&chat, [&] {
        auto report = service_.open(
            chat.saved,
            {.keeps_model = true, .choices = {.limit_bytes = start_.memory.limit_bytes}},
            {stop, {}});
        if (!report.ok() || report->resumed.ok()) return report;
        service_.close(report->chat);
        return Result<runtime::OpenReport>(report->resumed.error());
      }));
  chat.handle = opened.chat;
  learn_ids(chat);
  return opened.resumed->value_or(runtime::ResumeReport{});
}

// The session's messages but the system text are those of `said`.
void Desk::learn_ids(KnownChat& chat) {
  chat.ids.clear();
  chat.system_id = {};
  // What cannot be looked at has no ids.
  (void)look({}, [&]() -> Result<void> {
    const runtime::Session* session = service_.session(chat.handle);
    if (session == nullptr) return {};
    for (const runtime::SessionMessage& message : session->messages()) {
      if (message.role == Role::system)
        chat.system_id = message.id;
      else
        chat.ids.push_back(message.id);
    }
    if (const runtime::OpenChat* open = service_.chat(chat.handle)) chat.saved = open->id();
    return {};
  });
}

Result<KnownChat*> Desk::begin_chat(Turn& turn, const kvcache::Recipe& recipe,
                                    const std::stop_token& stop) {
  const ChatRequest& request = turn.request_;
  KnownChat chat;
  set_id(chat, request.session.empty() ? fresh_id("chat-") : request.session);
  chat.group = request.group;
  chat.system = request.system;
  chat.system_marks = request.system_marks;
  chat.recipe = recipe.json();
  runtime::ChatStart start = start_;
  start.memory.recipe = recipe;
  start.name = name_of(chat);
  start.system = request.system;
  start.system_marks = request.system_marks;
  SATCHEL_TRY_ASSIGN(chat.handle, service_.begin(std::move(start), {}, {stop, {}}));
  turn.is_new_ = true;
  chats_.push_back(std::move(chat));
  chats_.back().used = ++n_uses_;
  return &chats_.back();
}

Result<KnownChat*> Desk::branch(KnownChat& from, std::size_t n, const std::stop_token& stop) {
  // Only what they have in common: the rest is another conversation's.
  SATCHEL_TRY_ASSIGN(const runtime::ChatHandle handle, with_room(&from, [&] {
                       return service_.branch(from.handle, {stop, {}}, last_of(from, n));
                     }));
  KnownChat chat = from;
  set_id(chat, fresh_id("chat-"));
  chat.said.resize(n);
  chat.handle = handle;
  chat.saved = {};
  chat.used = ++n_uses_;
  learn_ids(chat);
  if (chat.saved.value != 0) {
    const auto named = service_.rename(chat.saved, name_of(chat), {stop, {}});
    if (!named.ok()) {
      service_.close(handle);
      return named.error();
    }
  }
  chats_.push_back(std::move(chat));
  return &chats_.back();
}

// Of the first n messages. The system text stays read, but where it is the beginning of the first
// message.
runtime::MessageId Desk::last_of(const KnownChat& chat, std::size_t n) const {
  if (n > 0) return chat.ids.at(n - 1);
  const bool is_apart = !service_.engine()->chat_template().system_in_first_turn();
  return is_apart ? chat.system_id : runtime::MessageId{};
}

Result<void> Desk::cut(KnownChat& chat, std::size_t n, const std::stop_token& stop) {
  if (n >= chat.said.size()) return {};
  if (n == 0 && chat.ids.empty()) return {};
  SATCHEL_TRY(service_.truncate(chat.handle, last_of(chat, n), {stop, {}}));
  chat.said.resize(n);
  chat.ids.resize(n);
  return {};
}

Result<void> Desk::add(const Turn& turn, const std::stop_token& stop) {
  KnownChat& chat = *turn.chat_;
  const ChatRequest& request = turn.request_;
  std::vector<runtime::MessageText> texts;
  for (std::size_t i = chat.said.size(); i < request.messages.size(); ++i)
    texts.push_back(
        {request.messages[i].role, request.messages[i].text, &request.messages[i].marks});
  if (texts.empty()) return {};
  const auto appended = with_room(&chat, [&] {
    return service_.append(chat.handle, texts, {stop, {}});
  });
  if (!appended.ok()) return appended.error();
  // What it has read stays as it was read.
  chat.said.insert(chat.said.end(),
                   request.messages.begin() + static_cast<std::ptrdiff_t>(chat.said.size()),
                   request.messages.end());
  learn_ids(chat);
  return {};
}

}  // namespace satchel::serve
