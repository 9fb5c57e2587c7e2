// PassingJournal: passes every call on to another journal, which it does not own and which outlives
// it. Tests override what shall go otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/journal.h"

namespace satchel::test {

class PassingJournal : public runtime::Journal {
 public:
  explicit PassingJournal(runtime::Journal& inner) : inner_(inner) {}
  Result<std::vector<runtime::MessageId>> append_behind(
      runtime::ChatId chat, std::optional<runtime::MessageId> last,
      std::span<const runtime::NewMessage> messages, const runtime::NoteBeside* note) override {
    return inner_.append_behind(chat, last, messages, note);
  }
  Result<void> truncate(runtime::ChatId chat, runtime::MessageId last) override {
    return inner_.truncate(chat, last);
  }
  Result<void> extend(runtime::MessageId id, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return inner_.extend(id, text, tokens);
  }
  Result<void> finish(runtime::MessageId id, runtime::MessageState state, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return inner_.finish(id, state, text, tokens);
  }
  Result<std::vector<runtime::StoredMessage>> messages(runtime::ChatId chat) override {
    return inner_.messages(chat);
  }
  Result<std::vector<runtime::MessageLink>> tree(runtime::ChatId chat) override {
    return inner_.tree(chat);
  }
  Result<void> set_note(runtime::ChatId chat, std::string_view name,
                        std::string_view text) override {
    return inner_.set_note(chat, name, text);
  }
  Result<std::optional<std::string>> note(runtime::ChatId chat, std::string_view name) override {
    return inner_.note(chat, name);
  }

 protected:
  static Error full() { return {ErrorKind::storage, "DISK_FULL", "Not saved: the disk is full."}; }

 private:
  runtime::Journal& inner_;
};

}  // namespace satchel::test
