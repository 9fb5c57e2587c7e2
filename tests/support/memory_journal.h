// A Journal without a disk.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "kvcache/snapshot/journal.h"

namespace satchel::test {

class MemoryJournal final : public kvcache::Journal {
 public:
  Result<kvcache::MessageId> append(kvcache::ChatId chat,
                                    const kvcache::NewMessage& message) override {
    const kvcache::MessageId id{++last_id_};
    chats_[chat].push_back({.id = id,
                            .role = message.role,
                            .state = message.state,
                            .text = std::string(message.text),
                            .tokens = {message.tokens.begin(), message.tokens.end()},
                            .created_ms = last_id_});
    return id;
  }
  Result<void> extend(kvcache::MessageId message, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return finish(message, kvcache::MessageState::streaming, text, tokens);
  }
  Result<void> finish(kvcache::MessageId message, kvcache::MessageState state,
                      std::string_view text, std::span<const std::int32_t> tokens) override {
    for (auto& [chat, messages] : chats_)
      for (kvcache::StoredMessage& row : messages) {
        if (row.id != message || row.state != kvcache::MessageState::streaming) continue;
        row.text += text;
        row.tokens.insert(row.tokens.end(), tokens.begin(), tokens.end());
        row.state = state;
        return {};
      }
    return Error{ErrorKind::not_found, "MESSAGE", "no streaming message of that id"};
  }
  Result<std::vector<kvcache::StoredMessage>> messages(kvcache::ChatId chat) override {
    return chats_[chat];
  }

 private:
  std::map<kvcache::ChatId, std::vector<kvcache::StoredMessage>> chats_;
  std::int64_t last_id_ = 0;
};

}  // namespace satchel::test
