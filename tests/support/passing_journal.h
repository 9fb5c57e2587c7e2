// PassingJournal: passes every call on to another journal, which it does not own and which outlives
// it. Tests override what shall go otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/snapshot/journal.h"

namespace satchel::test {

class PassingJournal : public kvcache::Journal {
 public:
  explicit PassingJournal(kvcache::Journal& inner) : inner_(inner) {}
  Result<std::vector<kvcache::MessageId>> append_all(
      kvcache::ChatId chat, std::span<const kvcache::NewMessage> messages) override {
    return inner_.append_all(chat, messages);
  }
  Result<void> truncate(kvcache::ChatId chat, kvcache::MessageId last) override {
    return inner_.truncate(chat, last);
  }
  Result<void> extend(kvcache::MessageId id, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return inner_.extend(id, text, tokens);
  }
  Result<void> finish(kvcache::MessageId id, kvcache::MessageState state, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return inner_.finish(id, state, text, tokens);
  }
  Result<std::vector<kvcache::StoredMessage>> messages(kvcache::ChatId chat) override {
    return inner_.messages(chat);
  }
  Result<void> set_note(kvcache::ChatId chat, std::string_view name,
                        std::string_view text) override {
    return inner_.set_note(chat, name, text);
  }
  Result<std::optional<std::string>> note(kvcache::ChatId chat, std::string_view name) override {
    return inner_.note(chat, name);
  }

 protected:
  static Error full() { return {ErrorKind::storage, "DISK_FULL", "Not saved: the disk is full."}; }

 private:
  kvcache::Journal& inner_;
};

}  // namespace satchel::test
