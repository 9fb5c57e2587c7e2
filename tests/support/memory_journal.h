// A Journal without a disk.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcache/snapshot/journal.h"

namespace satchel::test {

class MemoryJournal final : public kvcache::Journal {
 public:
  Result<std::vector<kvcache::MessageId>> append_all(
      kvcache::ChatId chat, std::span<const kvcache::NewMessage> messages) override {
    std::vector<kvcache::MessageId> ids;
    for (const kvcache::NewMessage& message : messages) {
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
    return ids;
  }
  Result<void> extend(kvcache::MessageId message, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return finish(message, kvcache::MessageState::streaming, text, tokens);
  }
  Result<void> finish(kvcache::MessageId message, kvcache::MessageState state,
                      std::string_view text, std::span<const std::int32_t> tokens) override {
    for (auto& [id, chat] : chats_)
      for (kvcache::StoredMessage& row : chat.all) {
        if (row.id != message || row.state != kvcache::MessageState::streaming) continue;
        row.text += text;
        row.tokens.insert(row.tokens.end(), tokens.begin(), tokens.end());
        row.state = state;
        return {};
      }
    return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND", "no streaming message of that id"};
  }
  Result<void> truncate(kvcache::ChatId chat, kvcache::MessageId last) override {
    for (const kvcache::StoredMessage& row : chats_[chat].all)
      if (row.state == kvcache::MessageState::streaming)
        return Error{ErrorKind::invalid, "MESSAGE_STATE", "an answer streams"};
    if (last.value != 0 && find(chats_[chat], last) == nullptr)
      return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND", "no message of that id"};
    chats_[chat].last = last;
    return {};
  }
  Result<std::vector<kvcache::StoredMessage>> messages(kvcache::ChatId chat) override {
    std::vector<kvcache::StoredMessage> path;
    for (auto* row = find(chats_[chat], chats_[chat].last); row != nullptr;
         row = find(chats_[chat], row->parent))
      path.insert(path.begin(), *row);
    return path;
  }

  Result<void> set_note(kvcache::ChatId chat, std::string_view name,
                        std::string_view text) override {
    notes_[{chat, std::string(name)}] = text;
    return {};
  }
  Result<std::optional<std::string>> note(kvcache::ChatId chat, std::string_view name) override {
    const auto found = notes_.find({chat, std::string(name)});
    if (found == notes_.end()) return std::optional<std::string>();
    return std::optional(found->second);
  }

  // The stored row, for tests that damage it.
  kvcache::StoredMessage& row(kvcache::ChatId chat, std::size_t index) {
    return chats_.at(chat).all.at(index);
  }

 private:
  struct Chat {
    std::vector<kvcache::StoredMessage> all;
    kvcache::MessageId last;
  };
  static kvcache::StoredMessage* find(Chat& chat, kvcache::MessageId id) {
    for (kvcache::StoredMessage& row : chat.all)
      if (row.id == id) return &row;
    return nullptr;
  }
  std::map<kvcache::ChatId, Chat> chats_;
  std::map<std::pair<kvcache::ChatId, std::string>, std::string> notes_;
  std::int64_t last_id_ = 0;
};

}  // namespace satchel::test
