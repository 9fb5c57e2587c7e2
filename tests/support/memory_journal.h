// A Journal without a disk.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/contract/journal.h"

namespace satchel::test {

class MemoryJournal final : public runtime::Journal {
 public:
  Result<std::vector<runtime::MessageId>> append_behind(
      runtime::ChatId chat, std::optional<runtime::MessageId> last,
      std::span<const runtime::NewMessage> messages, const runtime::NoteBeside* note) override {
    if (last) SATCHEL_TRY(truncate(chat, *last));
    std::vector<runtime::MessageId> ids;
    for (const runtime::NewMessage& message : messages) {
      Chat& to = chats_[chat];
      ids.push_back({++last_id_});
      to.all.push_back({.id = ids.back(),
                        .parent = to.last,
                        .role = message.role,
                        .state = message.state,
                        .kind = message.kind,
                        .title = std::string(message.title),
                        .text = std::string(message.text),
                        .tokens = {message.tokens.begin(), message.tokens.end()},
                        .tokenizer = message.tokenizer,
                        .model = {},
                        .created_ms = last_id_});
      to.last = ids.back();
    }
    if (note != nullptr) SATCHEL_TRY(set_note(chat, note->name, note->text(ids)));
    return ids;
  }
  Result<void> extend(runtime::MessageId message, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return finish(message, runtime::MessageState::streaming, text, tokens);
  }
  Result<void> finish(runtime::MessageId message, runtime::MessageState state,
                      std::string_view text, std::span<const std::int32_t> tokens) override {
    for (auto& [id, chat] : chats_)
      for (runtime::StoredMessage& row : chat.all) {
        if (row.id != message || row.state != runtime::MessageState::streaming) continue;
        row.text += text;
        row.tokens.insert(row.tokens.end(), tokens.begin(), tokens.end());
        row.state = state;
        return {};
      }
    return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND", "no streaming message of that id"};
  }
  Result<void> truncate(runtime::ChatId chat, runtime::MessageId last) override {
    for (const runtime::StoredMessage& row : chats_[chat].all)
      if (row.state == runtime::MessageState::streaming)
        return Error{ErrorKind::invalid, "MESSAGE_STATE", "an answer streams"};
    if (last.value != 0 && find(chats_[chat], last) == nullptr)
      return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND", "no message of that id"};
    chats_[chat].last = last;
    return {};
  }
  Result<std::vector<runtime::StoredMessage>> messages(runtime::ChatId chat) override {
    std::vector<runtime::StoredMessage> path;
    for (auto* row = find(chats_[chat], chats_[chat].last); row != nullptr;
         row = find(chats_[chat], row->parent))
      path.insert(path.begin(), *row);
    return path;
  }
  Result<std::vector<runtime::MessageLink>> tree(runtime::ChatId chat) override {
    std::vector<runtime::MessageLink> links;
    for (const runtime::StoredMessage& row : chats_[chat].all)
      links.push_back({.id = row.id, .parent = row.parent});
    return links;
  }

  Result<void> set_note(runtime::ChatId chat, std::string_view name,
                        std::string_view text) override {
    notes_[{chat, std::string(name)}] = text;
    return {};
  }
  Result<std::optional<std::string>> note(runtime::ChatId chat, std::string_view name) override {
    const auto found = notes_.find({chat, std::string(name)});
    if (found == notes_.end()) return std::optional<std::string>();
    return std::optional(found->second);
  }

  // The stored row, for tests that damage it.
  runtime::StoredMessage& row(runtime::ChatId chat, std::size_t index) {
    return chats_.at(chat).all.at(index);
  }

 private:
  struct Chat {
    std::vector<runtime::StoredMessage> all;
    runtime::MessageId last;
  };
  static runtime::StoredMessage* find(Chat& chat, runtime::MessageId id) {
    for (runtime::StoredMessage& row : chat.all)
      if (row.id == id) return &row;
    return nullptr;
  }
  std::map<runtime::ChatId, Chat> chats_;
  std::map<std::pair<runtime::ChatId, std::string>, std::string> notes_;
  std::int64_t last_id_ = 0;
};

}  // namespace satchel::test
