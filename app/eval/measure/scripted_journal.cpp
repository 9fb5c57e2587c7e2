#include "app/eval/measure/scripted_journal.h"

namespace satchel::eval {
namespace {

using runtime::MessageId;
using runtime::MessageState;
using runtime::NewMessage;
using runtime::Role;
using runtime::StoredMessage;

}  // namespace

ScriptedJournal::ScriptedJournal(std::span<const ChatMessage> messages, std::string_view system) {
  if (messages.empty()) return;  // the session itself begins the chat
  if (!system.empty()) add(kScript, {.role = Role::system, .text = system, .tokens = {}});
  // Without ids, which the session makes of the text.
  for (const ChatMessage& message : messages)
    add(kScript, {.role = message.speaker == Speaker::user ? Role::user : Role::assistant,
                  .text = message.text,
                  .tokens = {}});
}

void ScriptedJournal::add(runtime::ChatId chat, const NewMessage& message) {
  std::vector<StoredMessage>& to = chats_[chat];
  to.push_back({.id = {++last_id_},
                .parent = to.empty() ? MessageId{} : to.back().id,
                .role = message.role,
                .state = message.state,
                .kind = message.kind,
                .title = std::string(message.title),
                .text = std::string(message.text),
                .tokens = {message.tokens.begin(), message.tokens.end()},
                .tokenizer = message.tokenizer,
                .model = {}});
}

Result<std::vector<MessageId>> ScriptedJournal::append_behind(runtime::ChatId chat,
                                                              std::optional<MessageId> last,
                                                              std::span<const NewMessage> messages,
                                                              const runtime::NoteBeside* note) {
  if (last) SATCHEL_TRY(truncate(chat, *last));
  std::vector<MessageId> ids;
  for (const NewMessage& message : messages) {
    add(chat, message);
    ids.push_back({last_id_});
  }
  if (note != nullptr) SATCHEL_TRY(set_note(chat, note->name, note->text(ids)));
  return ids;
}

Result<void> ScriptedJournal::extend(MessageId message, std::string_view text,
                                     std::span<const std::int32_t> tokens) {
  return finish(message, MessageState::streaming, text, tokens);
}

// Only a chat's last message streams.
Result<void> ScriptedJournal::finish(MessageId message, MessageState state, std::string_view text,
                                     std::span<const std::int32_t> tokens) {
  for (auto& [id, chat] : chats_) {
    if (chat.empty() || chat.back().id != message) continue;
    StoredMessage& last = chat.back();
    last.text += text;
    last.tokens.insert(last.tokens.end(), tokens.begin(), tokens.end());
    last.state = state;
    return {};
  }
  return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND", "No message of this id streams."};
}

Result<void> ScriptedJournal::truncate(runtime::ChatId, MessageId) {
  return Error{ErrorKind::unsupported, "PARAM", "A scripted chat is not truncated."};
}

}  // namespace satchel::eval
