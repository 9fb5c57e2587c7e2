// What is said in a chat: messages and documents, and the answers to them.
#include <algorithm>
#include <utility>

#include "runtime/chat/chat_title.h"
#include "runtime/chat/service_call.h"

namespace satchel::runtime {
namespace {

constexpr double kCacheEveryMs = 500;     // while an answer streams; chosen, not measured
constexpr double kAgainTemperature = .7;  // of another answer, where it would be 0; likewise

// n_before: answers that are there.
Sampling sampling_again(Sampling sampling, std::size_t n_before) {
  if (sampling.temperature == 0) sampling.temperature = kAgainTemperature;
  sampling.seed += n_before;
  return sampling;
}

std::size_t n_versions(const Session* session, MessageId message) {
  if (session == nullptr) return 1;
  const Result<std::vector<MessageVersions>> all = session->versions();
  if (!all.ok()) return 1;
  const auto found = std::ranges::find(*all, message, &MessageVersions::message);
  return found == all->end() ? 1 : found->versions.size();
}

// Of reading, the runtime counts token-layers; people count tokens.
Progress in_tokens(Progress progress, std::size_t n_layers) {
  if (progress.phase != Phase::read_prompt) return progress;
  const std::size_t n = std::max<std::size_t>(n_layers, 1);
  return {progress.phase, progress.done / n, progress.total / n};
}

StoredMessage message_of(MessageId id, Role role, std::string_view text) {
  StoredMessage message;
  message.id = id;
  message.role = role;
  message.text = text;
  return message;
}

StoredMessage document_of(MessageId id, std::string_view title, std::string_view text) {
  StoredMessage message = message_of(id, Role::user, text);
  message.kind = MessageKind::document;
  message.title = title;
  return message;
}

std::string beginning_of(const StoredMessage& message) {
  const std::string words = title_from(message.text);
  return message.kind == MessageKind::document ? message.title + ": " + words : words;
}

}  // namespace

ProgressFn ChatService::progress_of(const Running& running, const std::function<void()>& on_read,
                                    const std::function<void()>& on_generate) {
  const std::size_t n_layers = engine() != nullptr ? engine()->config().n_layers() : 1;
  return [&running, n_layers, on_read, on_generate](const Progress& progress) {
    if (progress.phase != Phase::generate) {
      running.tell(in_tokens(progress, n_layers));
      if (progress.phase == Phase::read_prompt && on_read) on_read();
    } else if (on_generate) {
      on_generate();
    }
  };
}

template <class Ids, class Add>
Result<Ids> ChatService::commit(OpenChat& chat, std::string_view title, Running& running,
                                const Add& add) {
  const bool is_first = chat.session() == nullptr;
  SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
  SATCHEL_TRY(chat.keep_new_setup(at));
  SATCHEL_TRY(chat.enter(at, title_from(title), clock_.wall_ms()));
  Result<Ids> added = add(*chat.session());
  if (!added.ok()) {
    // The first message alone is too long: going on would make no room for it.
    if (added.error().code == "CONTEXT_FULL" && chat.ends_at_context() &&
        (!is_first || running.task == ChatTask::attach_document))
      running.tell(ContextEnded{});
    if (is_first) check(running, ChatTask::remove_chat, chat.leave(at));
    return added;
  }
  if (!chat.is_saved()) return added;
  SATCHEL_TRY_ASSIGN(const Chat row, store_->library().chat(chat.id()));
  if (is_first) {
    running.tell(ChatEntered{row});
  } else {
    running.tell(ChatChanged{row});
  }
  return added;
}

Result<GenerateReport> ChatService::send(ChatHandle handle, std::string_view text,
                                         const Sampling& sampling, const ChatCall& call) {
  return run<GenerateReport>(
      ChatTask::send, handle, call, [&](Running& running) -> Result<GenerateReport> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
        SATCHEL_TRY_ASSIGN(const MessageId id,
                           commit<MessageId>(*chat, text, running, [&](Session& session) {
                             return session.add_user(text);
                           }));
        chat->unanswered = id;
        running.tell(message_of(id, Role::user, text));
        return reply(*chat, sampling, running);
      });
}

Result<GenerateReport> ChatService::send_instead(ChatHandle handle, MessageId message,
                                                 std::string_view text, const Sampling& sampling,
                                                 const ChatCall& call) {
  return run<GenerateReport>(
      ChatTask::send, handle, call, [&](Running& running) -> Result<GenerateReport> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
        SATCHEL_TRY_ASSIGN(const CutEnd cut,
                           cut_before(*chat, message, /*is_users=*/true, running));
        const Result<MessageId> id = commit<MessageId>(
            *chat, text, running, [&](Session& session) { return session.add_user(text); });
        put_back_unless_said(*chat, cut, running);
        SATCHEL_TRY(id);
        chat->unanswered = *id;
        running.tell(message_of(*id, Role::user, text));
        tell_versions(*chat, running);
        return reply(*chat, sampling, running);
      });
}

Result<GenerateReport> ChatService::answer_again(ChatHandle handle, MessageId answer,
                                                 const Sampling& sampling, const ChatCall& call) {
  return run<GenerateReport>(
      ChatTask::send, handle, call, [&](Running& running) -> Result<GenerateReport> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
        const Sampling other = sampling_again(sampling, n_versions(chat->session(), answer));
        SATCHEL_TRY_ASSIGN(const CutEnd cut,
                           cut_before(*chat, answer, /*is_users=*/false, running));
        chat->unanswered = chat->session()->messages().back().id;
        Result<GenerateReport> report = reply(*chat, other, running);
        if (!put_back_unless_said(*chat, cut, running)) tell_versions(*chat, running);
        return report;
      });
}

Result<std::vector<MessageId>> ChatService::append(ChatHandle handle,
                                                   std::span<const MessageText> messages,
                                                   const ChatCall& call) {
  using Ids = std::vector<MessageId>;
  return run<Ids>(ChatTask::edit, handle, call, [&](Running& running) -> Result<Ids> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
    if (messages.empty()) return Ids{};
    SATCHEL_TRY_ASSIGN(
        Ids ids, commit<Ids>(*chat, messages.front().text, running,
                             [&](Session& session) { return session.add_messages(messages); }));
    for (std::size_t i = 0; i < ids.size(); ++i)
      running.tell(message_of(ids[i], messages[i].role, messages[i].text));
    chat->unanswered = messages.back().role == Role::user ? ids.back() : MessageId{};
    tell_cache(*chat, running);
    return ids;
  });
}

Result<GenerateReport> ChatService::answer(ChatHandle handle, const Sampling& sampling,
                                           const ChatCall& call) {
  return run<GenerateReport>(ChatTask::send, handle, call,
                             [&](Running& running) -> Result<GenerateReport> {
                               SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
                               const Session* session = chat->session();
                               if (session == nullptr || session->messages().empty() ||
                                   session->messages().back().role != Role::user)
                                 return nothing_to_answer();
                               chat->unanswered = session->messages().back().id;
                               return reply(*chat, sampling, running);
                             });
}

Result<GenerateReport> ChatService::ask_all(ChatHandle handle, std::string_view question,
                                            const Sampling& sampling, const ChatCall& call) {
  return run<GenerateReport>(
      ChatTask::send, handle, call, [&](Running& running) -> Result<GenerateReport> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
        SATCHEL_TRY_ASSIGN(
            const AllAsked asked, commit<AllAsked>(*chat, question, running, [&](Session& session) {
              return session.ask_all(question, running.call.stop, progress_of(running));
            }));
        chat->unanswered = asked.question;
        if (asked.document.document.value != 0) {
          running.tell(document_of(asked.document.document, kPartNotesTitle, asked.notes));
          running.tell(message_of(asked.document.answer, Role::assistant, kNoted));
        }
        running.tell(message_of(asked.question, Role::user, question));
        return reply(*chat, sampling, running);
      });
}

Result<GenerateReport> ChatService::reply(OpenChat& chat, const Sampling& sampling,
                                          Running& running) {
  Session& session = *chat.session();
  bool is_started = false;
  double told_ms = clock_.steady_ms();
  const auto start = [&] {
    if (std::exchange(is_started, true)) return;
    tell_cache(chat, running);
    // Where there was no room for an answer, the question is the last message.
    const SessionMessage& last = session.messages().back();
    running.tell(AnswerStarted{last.role == Role::assistant ? last.id : MessageId{}});
  };
  const auto tell = [&](const ChatEvent& delta) {
    start();
    running.tell(delta);
    if (const double now_ms = clock_.steady_ms(); now_ms - told_ms > kCacheEveryMs) {
      told_ms = now_ms;
      tell_cache(chat, running);
    }
    return true;
  };
  Result<GenerateReport> report = [&] {
    DecodeGroup::Member member(answers_, running.chat);
    return session.generate(
        {.sampling = sampling,
         .delta = [&](std::string_view text) { return tell(AnswerDelta{std::string(text)}); },
         .stop = running.call.stop,
         .progress = progress_of(
             running, [&] { member.make_way(); }, start),
         .thought =
             [&](std::string_view text) {
               return tell(AnswerDelta{std::string(text), true});
             },
         .decode = [&](Turn& turn, TokenId token) { return member.decode(turn, token); }});
  }();
  if (report.ok()) {
    chat.unanswered = {};
    start();
  }
  tell_cache(chat, running);
  if (report.ok()) {
    check(running, ChatTask::keep_settings,
          read_speed_.keep(engine()->fingerprint(), report->read));
    if (report->finish == Finish::context_full && chat.ends_at_context())
      running.tell(ContextEnded{});
    running.tell(*report);
  }
  save_now(chat, running);
  return report;
}

Result<ReadReport> ChatService::attach(ChatHandle handle, const Document& document,
                                       const ChatCall& call) {
  return run<ReadReport>(ChatTask::attach_document, handle, call,
                         [&](Running& running) -> Result<ReadReport> {
                           SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
                           return read_document(*chat, document, running);
                         });
}

Result<ReadReport> ChatService::read_document(OpenChat& chat, const Document& document,
                                              Running& running) {
  using Parts = std::vector<DocumentIds>;
  SATCHEL_TRY_ASSIGN(
      const Parts parts, commit<Parts>(chat, document.title, running, [&](Session& session) {
        return session.add_document(document.title, document.text, running.call.stop);
      }));
  chat.unanswered = {};
  // The whole stands for its parts.
  running.tell(document_of(parts.front().document, document.title, document.text));
  DecodeGroup::Reader reader(answers_);
  const auto make_way = [&reader] { reader.make_way(); };
  const bool is_in_parts = parts.size() > 1;
  if (is_in_parts) running.tell(DocumentParts{parts.front().document, parts.size()});
  const Result<ReadReport> report =
      is_in_parts
          ? read_parts(chat, running, make_way)
          : chat.session()->read(running.call.stop, progress_of(running, make_way), document.how);
  // The answer is in the store with the document, read or not.
  running.tell(message_of(parts.back().answer, Role::assistant, kNoted));
  tell_cache(chat, running);
  if (report.ok()) {
    check(running, ChatTask::keep_settings, read_speed_.keep(engine()->fingerprint(), *report));
    running.tell(*report);
  }
  if (document.saves || !report.ok()) save_now(chat, running);
  return report;
}

// Each part is told when it has been read: from the first on, the document can be asked.
Result<ReadReport> ChatService::read_parts(const OpenChat& chat, Running& running,
                                           const std::function<void()>& make_way) {
  const std::stop_source makes_way;
  const std::stop_callback relay(running.call.stop,
                                 [&makes_way] { std::stop_source(makes_way).request_stop(); });
  queue_.reads(makes_way);
  Session& session = *chat.session();
  std::size_t n_told = 0;
  tell_cache(chat, running);
  const ProgressFn told = progress_of(running, make_way);
  const auto tell = [&](const Progress& progress) {
    const std::size_t n_read = session.parts_read().back().n_read;
    if (std::exchange(n_told, n_read) != n_read) tell_cache(chat, running);
    told(progress);
  };
  const double began = clock_.steady_ms();
  const std::size_t n_before = session.n_read();
  Result<ReadReport> report = session.read(makes_way.get_token(), tell);
  const bool made_way = !report.ok() && report.error().kind == ErrorKind::cancelled &&
                        !running.call.stop.stop_requested();
  if (!made_way) return report;
  ReadReport part;
  part.n_tokens = session.n_read() - n_before;
  part.ms = clock_.steady_ms() - began;
  return part;
}

Result<void> ChatService::set_thinking(ChatHandle handle, Thinking thinking, const ChatCall& call) {
  return run<void>(ChatTask::set_thinking, handle, call, [&](Running&) -> Result<void> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find(handle));
    return chat->set_thinking(thinking);
  });
}

Result<void> ChatService::go_on(ChatHandle handle, const ChatCall& call) {
  return run<void>(ChatTask::go_on, handle, call, [&](Running& running) -> Result<void> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
    SATCHEL_TRY(chat->set_beyond(BeyondContext::episodes));
    const Session* session = chat->session();
    if (session != nullptr && session->n_read() == 0) SATCHEL_TRY(resume(*chat, running));
    running.tell(WentOn{});
    tell_cache(*chat, running);
    return {};
  });
}

Result<OlderParts> ChatService::older_parts(ChatHandle handle, const ChatCall& call) {
  return run<OlderParts>(
      ChatTask::older_parts, handle, call, [&](Running& running) -> Result<OlderParts> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
        OlderParts found;
        if (chat->session() == nullptr) return found;
        std::vector<StoredMessage> messages;
        if (chat->is_saved()) {
          SATCHEL_TRY_ASSIGN(messages, store_->library().messages(chat->id()));
        }
        for (const Episode& episode : chat->session()->episodes()) {
          const auto first = std::ranges::find(messages, episode.first, &StoredMessage::id);
          found.parts.push_back({.beginning = first == messages.end() ? "" : beginning_of(*first),
                                 .n_tokens = episode.n_tokens,
                                 .is_seen = episode.is_seen,
                                 .is_unread = episode.is_unread});
        }
        running.tell(found);
        return found;
      });
}

Result<void> ChatService::name_parts(ChatHandle handle, const std::vector<std::size_t>& parts,
                                     const ChatCall& call) {
  return run<void>(ChatTask::older_parts, handle, call, [&](Running& running) -> Result<void> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
    return chat->session() != nullptr ? chat->session()->name_episodes(parts) : Result<void>();
  });
}

// Of the answers of a saved chat; what cannot be found is not shown.
void ChatService::tell_thoughts(const OpenChat& chat, const Running& running) {
  for (const SessionMessage& message : chat.session()->messages()) {
    Result<Thoughts> thoughts = chat.session()->thoughts(message.id);
    if (thoughts.ok() && !thoughts->text.empty())
      running.tell(MessageThoughts{message.id, std::move(*thoughts)});
  }
}

}  // namespace satchel::runtime
