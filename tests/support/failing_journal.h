// FailingJournal: passes calls on to another journal, but the n-th that writes a message fails, once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/snapshot/journal.h"

namespace satchel::test {

class FailingJournal final : public kvcache::Journal {
 public:
  FailingJournal(kvcache::Journal& inner, std::size_t fail_at) : inner_(inner), left_(fail_at) {}
  Result<std::vector<kvcache::MessageId>> append_all(
      kvcache::ChatId chat, std::span<const kvcache::NewMessage> messages) override {
    if (fails()) return full();
    return inner_.append_all(chat, messages);
  }
  Result<void> truncate(kvcache::ChatId chat, kvcache::MessageId last) override {
    if (fails()) return full();
    return inner_.truncate(chat, last);
  }
  Result<void> extend(kvcache::MessageId id, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    if (fails()) return full();
    return inner_.extend(id, text, tokens);
  }
  Result<void> finish(kvcache::MessageId id, kvcache::MessageState state, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    if (fails()) return full();
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
  bool failed() const { return failed_; }

 private:
  bool fails() {
    if (failed_ || left_-- != 0) return false;
    failed_ = true;
    return true;
  }
  static Error full() { return {ErrorKind::storage, "DISK_FULL", "Not saved: the disk is full."}; }
  kvcache::Journal& inner_;
  std::size_t left_;
  bool failed_ = false;
};

}  // namespace satchel::test
