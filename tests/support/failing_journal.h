// FailingJournal: passes calls on to another journal, but the n-th that writes a message fails,
// once.
#pragma once

#include <cstddef>
#include <optional>

#include "support/passing_journal.h"

namespace satchel::test {

class FailingJournal final : public PassingJournal {
 public:
  FailingJournal(runtime::Journal& inner, std::size_t fail_at)
      : PassingJournal(inner), left_(fail_at) {}
  Result<std::vector<runtime::MessageId>> append_behind(
      runtime::ChatId chat, std::optional<runtime::MessageId> last,
      std::span<const runtime::NewMessage> messages, const runtime::NoteBeside* note) override {
    if (fails()) return full();
    return PassingJournal::append_behind(chat, last, messages, note);
  }
  Result<void> truncate(runtime::ChatId chat, runtime::MessageId last) override {
    if (fails()) return full();
    return PassingJournal::truncate(chat, last);
  }
  Result<void> extend(runtime::MessageId id, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    if (fails()) return full();
    return PassingJournal::extend(id, text, tokens);
  }
  Result<void> finish(runtime::MessageId id, runtime::MessageState state, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    if (fails()) return full();
    return PassingJournal::finish(id, state, text, tokens);
  }
  bool failed() const { return failed_; }

 private:
  bool fails() {
    if (failed_ || left_-- != 0) return false;
    failed_ = true;
    return true;
  }
  std::size_t left_;
  bool failed_ = false;
};

}  // namespace satchel::test
