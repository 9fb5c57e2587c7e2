// ScriptedJournal: a journal in memory whose first chat is written already, answers included. A
// session that resumes it (Session::resume) reads the messages one by one, as if they had just been
// said, and no answer is generated.
//   threads  one call at a time
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/eval/chat_world/chat.h"
#include "runtime/contract/journal.h"

namespace satchel::eval {

class ScriptedJournal final : public runtime::Journal {
 public:
  static constexpr runtime::ChatId kScript{1};

  // system: what chats of the model begin with; "": nothing.
  ScriptedJournal(std::span<const ChatMessage> messages, std::string_view system);

  void erase(runtime::ChatId chat) { chats_.erase(chat); }

  Result<std::vector<runtime::MessageId>> append_behind(
      runtime::ChatId chat, std::optional<runtime::MessageId> last,
      std::span<const runtime::NewMessage> messages,
      const runtime::NoteBeside* note) override;  // last: unsupported
  Result<void> extend(runtime::MessageId message, std::string_view text,
                      std::span<const std::int32_t> tokens) override;
  Result<void> finish(runtime::MessageId message, runtime::MessageState state,
                      std::string_view text, std::span<const std::int32_t> tokens) override;
  Result<void> truncate(runtime::ChatId chat, runtime::MessageId last) override;  // unsupported
  Result<std::vector<runtime::StoredMessage>> messages(runtime::ChatId chat) override {
    return chats_[chat];
  }
  Result<std::vector<runtime::MessageLink>> tree(runtime::ChatId) override {
    return std::vector<runtime::MessageLink>();  // nothing is cut
  }
  // What is measured of a chat that is thrown away is not kept.
  Result<void> set_note(runtime::ChatId, std::string_view, std::string_view) override { return {}; }
  Result<std::optional<std::string>> note(runtime::ChatId, std::string_view) override {
    return std::optional<std::string>();
  }

 private:
  void add(runtime::ChatId chat, const runtime::NewMessage& message);

  std::map<runtime::ChatId, std::vector<runtime::StoredMessage>> chats_;
  std::int64_t last_id_ = 0;
};

}  // namespace satchel::eval
