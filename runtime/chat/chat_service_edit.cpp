// What is changed in a chat that has messages: read ahead, cut, said otherwise, pinned, forgotten,
// branched.
#include <algorithm>
#include <utility>

#include "runtime/chat/service_call.h"

namespace satchel::runtime {

template <class T, class Work>
Result<T> ChatService::edit(ChatHandle handle, const ChatCall& call, const Work& work,
                            ChatTask task) {
  return run<T>(task, handle, call, [&](Running& running) -> Result<T> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
    if (chat->session() == nullptr) return no_messages();
    Result<T> done = work(*chat, running);
    tell_cache(*chat, running);
    if (done.ok()) save_now(*chat, running);
    return done;
  });
}

Result<ReadReport> ChatService::read(ChatHandle handle, const ChatCall& call) {
  return edit<ReadReport>(handle, call, [&](OpenChat& chat, Running& running) {
    DecodeGroup::Reader reader(answers_);
    Result<ReadReport> report =
        chat.session()->read(call.stop, progress_of(running, [&reader] { reader.make_way(); }));
    if (report.ok()) running.tell(*report);
    return report;
  });
}

Result<void> ChatService::truncate(ChatHandle handle, MessageId last, const ChatCall& call) {
  return edit<void>(handle, call, [&](OpenChat& chat, Running& running) -> Result<void> {
    chat.unanswered = {};
    SATCHEL_TRY(chat.session()->truncate(last));
    running.tell(MessagesReplaced{last, {}});
    tell_versions(chat, running);
    return {};
  });
}

void ChatService::tell_versions(const OpenChat& chat, const Running& running, bool also_none) {
  Result<std::vector<MessageVersions>> versions = chat.session()->versions();
  if (versions.ok() && (also_none || !versions->empty()))
    running.tell(VersionsChanged{std::move(*versions)});
}

Result<std::vector<MessageVersions>> ChatService::versions(ChatHandle handle,
                                                           const ChatCall& call) {
  using Versions = std::vector<MessageVersions>;
  return run<Versions>(ChatTask::edit, handle, call, [&](Running& running) -> Result<Versions> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
    return chat->session() != nullptr ? chat->session()->versions() : Versions();
  });
}

// The front end has what both have in common.
Result<void> ChatService::go_now(OpenChat& chat, Running& running,
                                 const std::function<Result<void>(Session&)>& go) {
  const std::vector<MessageId> before = ids_of(chat.session()->messages());
  SATCHEL_TRY(go(*chat.session()));
  chat.unanswered = {};
  const std::span<const SessionMessage> now = chat.session()->messages();
  const auto differs = std::ranges::mismatch(before, now, {}, {}, &SessionMessage::id).in2;
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> stored, store_->library().messages(chat.id()));
  const auto n_common = differs - now.begin();
  MessagesReplaced told{n_common > 0 ? std::prev(differs)->id : MessageId{}, {}};
  stored.erase(stored.begin(), stored.begin() + n_common);
  WholeDocuments whole = with_whole_documents(std::move(stored));
  told.messages = std::move(whole.messages);
  running.tell(told);
  for (const DocumentParts& document : whole.parts) running.tell(document);
  tell_thoughts(chat, running);
  tell_versions(chat, running);
  tell_marks(chat, running, /*also_none=*/false);
  return {};
}

Result<void> ChatService::switch_to(ChatHandle handle, MessageId version, const ChatCall& call) {
  return edit<void>(handle, call, [&](OpenChat& chat, Running& running) {
    return go_now(chat, running, [&](Session& session) { return session.switch_to(version); });
  });
}

Result<CorrectReport> ChatService::correct(ChatHandle handle, MessageId message,
                                           std::string_view text, const ChatCall& call) {
  const auto work = [&](OpenChat& chat, Running& running) -> Result<CorrectReport> {
    if (!chat.is_saved()) return has_one_version();
    CorrectReport report;
    SATCHEL_TRY(go_now(chat, running, [&](Session& session) -> Result<void> {
      SATCHEL_TRY_ASSIGN(report, session.correct(message, text, call.stop, progress_of(running)));
      return {};
    }));
    running.tell(report);
    return report;
  };
  return edit<CorrectReport>(handle, call, work, ChatTask::correct);
}

Result<ExactReport> ChatService::read_exactly(ChatHandle handle, const ChatCall& call) {
  const auto work = [&](OpenChat& chat, Running& running) {
    Result<ExactReport> report = chat.session()->read_exactly(call.stop, progress_of(running));
    if (report.ok()) running.tell(*report);
    return report;
  };
  return edit<ExactReport>(handle, call, work, ChatTask::correct);
}

Result<ChatService::CutEnd> ChatService::cut_before(OpenChat& chat, MessageId message,
                                                    bool is_users, Running& running) {
  if (chat.session() == nullptr || chat.session()->messages().empty()) return no_messages();
  if (!chat.is_saved()) return has_one_version();
  const std::span<const SessionMessage> messages = chat.session()->messages();
  CutEnd cut{.last = messages.back().id};
  const auto found = std::ranges::find(messages, message, &SessionMessage::id);
  if (found == messages.end()) return no_such_message();
  const bool has_before = found != messages.begin();
  const bool fits = is_users ? found->role == Role::user && found->kind == MessageKind::text
                             : found->role == Role::assistant && has_before &&
                                   std::prev(found)->kind == MessageKind::text;
  if (!fits) return cannot_be_said_otherwise();
  const MessageId last = has_before ? std::prev(found)->id : MessageId{};
  SATCHEL_TRY(chat.session()->truncate_until_said(last));
  running.tell(MessagesReplaced{last, {}});
  cut.n_messages = chat.session()->messages().size();
  return cut;
}

bool ChatService::put_back_unless_said(OpenChat& chat, const CutEnd& cut, Running& running) {
  if (chat.session()->messages().size() != cut.n_messages) return false;
  check(running, ChatTask::edit,
        go_now(chat, running, [&](Session& session) { return session.truncate(cut.last); }));
  return true;
}

void ChatService::tell_marks(const OpenChat& chat, const Running& running, bool also_none) {
  MarksChanged now;
  for (const SessionMessage& message : chat.session()->messages()) {
    if (message.is_pinned) now.pinned.push_back(message.id);
    if (message.is_forgotten) now.forgotten.push_back(message.id);
  }
  if (also_none || !now.pinned.empty() || !now.forgotten.empty()) running.tell(std::move(now));
}

Result<void> ChatService::mark(ChatHandle handle, const ChatCall& call,
                               const std::function<Result<void>(Session&)>& change) {
  return edit<void>(handle, call, [&](OpenChat& chat, Running& running) -> Result<void> {
    SATCHEL_TRY(change(*chat.session()));
    tell_marks(chat, running);
    return {};
  });
}

Result<void> ChatService::pin(ChatHandle handle, MessageId message, const ChatCall& call) {
  return mark(handle, call, [message](Session& session) { return session.pin(message); });
}

Result<void> ChatService::unpin(ChatHandle handle, MessageId message, const ChatCall& call) {
  return mark(handle, call, [message](Session& session) { return session.unpin(message); });
}

Result<void> ChatService::forget(ChatHandle handle, MessageId message, const ChatCall& call) {
  return mark(handle, call, [message](Session& session) { return session.forget(message); });
}

Result<void> ChatService::look(const std::function<Result<void>()>& look, const ChatCall& call) {
  return run<void>(ChatTask::edit, {}, call, [&](Running&) { return look(); });
}

Result<void> ChatService::look_aside(const std::function<Result<void>()>& look,
                                     const ChatCall& call) {
  return run<void>(ChatTask::edit, {}, {.no_cache = true}, call, [&](Running&) { return look(); });
}

Result<ChatHandle> ChatService::branch(ChatHandle handle, const ChatCall& call,
                                       std::optional<MessageId> last) {
  return edit<ChatHandle>(
      handle, call, [&](OpenChat& chat, Running& running) -> Result<ChatHandle> {
        SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
        SATCHEL_TRY_ASSIGN(OpenChat branch, chat.branch(at, clock_.wall_ms(), last));
        save_now(branch, running);
        return add(std::move(branch), {});
      });
}

}  // namespace satchel::runtime
