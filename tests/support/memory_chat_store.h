// A ChatStore without a disk. Its chats outlive it, so that a test opens them again in another one.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/contract/cache_key.h"
#include "runtime/contract/chat_store.h"
#include "support/memory_journal.h"
#include "support/record_stores.h"

namespace satchel::test {

class MemoryChatLibrary final : public runtime::ChatLibrary {
 public:
  using ChatId = runtime::ChatId;
  using Chat = runtime::Chat;

  Result<ChatId> create_chat(const runtime::NewChat& chat, runtime::NameTaken taken) override {
    std::string name = chat.name;
    for (int n = 2; find(name) != nullptr; ++n) {
      if (taken == runtime::NameTaken::refuse)
        return Error{ErrorKind::invalid, "CHAT_EXISTS", "that name is taken"};
      name = chat.name + " (" + std::to_string(n) + ")";
    }
    Chat row;
    row.id = {std::int64_t(rows_.size()) + 1};
    row.name = name;
    row.title = chat.title;
    row.setup = chat.setup;
    rows_.emplace(row.id, row);
    return row.id;
  }
  Result<Chat> chat(ChatId id) override {
    SATCHEL_TRY_ASSIGN(Chat* const found, row(id));
    Chat chat = *found;
    const auto said = value_of(journal_.messages(id));
    chat.n_messages = said.size();
    for (const auto& message : said) chat.n_tokens += message.tokens.size();
    chat.folder = value_of(journal_.note(id, runtime::kFolderNote)).value_or("");
    if (value_of(journal_.note(id, runtime::kPlaceNote)) == runtime::kPlaceTop)
      chat.place = runtime::ListPlace::top;
    chat.stopped = {std::stoll(value_of(journal_.note(id, runtime::kStoppedNote)).value_or("0"))};
    return chat;
  }
  Result<std::optional<Chat>> find_chat(std::string_view name) override {
    const Chat* found = find(name);
    return found == nullptr ? std::optional<Chat>() : std::optional(*found);
  }
  Result<std::vector<Chat>> chats(runtime::ChatFilter filter) override {
    std::vector<Chat> listed;
    for (const auto& [id, row] : rows_)
      if (row.removed_ms.has_value() == (filter == runtime::ChatFilter::removed))
        listed.push_back(value_of(chat(id)));
    return listed;
  }
  Result<void> retitle_chat(ChatId id, std::string_view title) override {
    SATCHEL_TRY_ASSIGN(Chat* const found, row(id));
    found->title = title;
    return {};
  }
  Result<void> set_setup(ChatId id, const runtime::ChatSetup& setup) override {
    if (fails(setups_fail_)) return failed();
    SATCHEL_TRY_ASSIGN(Chat* const found, row(id));
    found->setup = setup;
    return {};
  }
  Result<void> remove_chat(ChatId id) override { return set_removed(id, 1); }
  Result<void> restore_chat(ChatId id) override { return set_removed(id, std::nullopt); }
  Result<std::optional<std::string>> setting(std::string_view key) override {
    const auto found = settings_.find(std::string(key));
    return found == settings_.end() ? std::optional<std::string>() : std::optional(found->second);
  }
  Result<void> set_setting(std::string_view key, std::string_view value) override {
    if (fails(settings_fail_)) return failed();
    settings_[std::string(key)] = value;
    return {};
  }
  void erase(ChatId id) { rows_.erase(id); }

  // After `skip` calls of that kind the next `n` fail.
  struct Faults {
    std::size_t skip = 0, n = 1;
  };
  void fail_messages(Faults faults) { messages_fail_ = faults; }
  void fail_setups(Faults faults) { setups_fail_ = faults; }
  void fail_settings(Faults faults) { settings_fail_ = faults; }

  Result<std::vector<runtime::MessageId>> append_behind(
      ChatId chat, std::optional<runtime::MessageId> last,
      std::span<const runtime::NewMessage> messages, const runtime::NoteBeside* note) override {
    return journal_.append_behind(chat, last, messages, note);
  }
  Result<void> extend(runtime::MessageId message, std::string_view text,
                      std::span<const std::int32_t> tokens) override {
    return journal_.extend(message, text, tokens);
  }
  Result<void> finish(runtime::MessageId message, runtime::MessageState state,
                      std::string_view text, std::span<const std::int32_t> tokens) override {
    return journal_.finish(message, state, text, tokens);
  }
  Result<void> truncate(ChatId chat, runtime::MessageId last) override {
    return journal_.truncate(chat, last);
  }
  Result<std::vector<runtime::StoredMessage>> messages(ChatId chat) override {
    if (fails(messages_fail_)) return failed();
    return journal_.messages(chat);
  }
  Result<std::vector<runtime::MessageLink>> tree(ChatId chat) override {
    return journal_.tree(chat);
  }
  Result<void> set_note(ChatId chat, std::string_view name, std::string_view text) override {
    return journal_.set_note(chat, name, text);
  }
  Result<std::optional<std::string>> note(ChatId chat, std::string_view name) override {
    return journal_.note(chat, name);
  }

 private:
  template <class T>
  static T value_of(Result<T> result) {
    return std::move(result).value();
  }
  static bool fails(Faults& faults) {
    if (faults.n == 0) return false;
    if (faults.skip > 0) return --faults.skip, false;
    return --faults.n, true;
  }
  static Error failed() { return {ErrorKind::storage, "DISK_FULL", "The test's disk is full."}; }
  Chat* find(std::string_view name) {
    for (auto& [id, row] : rows_)
      if (!row.removed_ms && !name.empty() && row.name == name) return &row;
    return nullptr;
  }
  Result<Chat*> row(ChatId id) {
    const auto found = rows_.find(id);
    if (found == rows_.end())
      return Error{ErrorKind::not_found, "CHAT_NOT_FOUND", "no chat of that id"};
    return &found->second;
  }
  Result<void> set_removed(ChatId id, std::optional<std::int64_t> removed_ms) {
    SATCHEL_TRY_ASSIGN(Chat* const found, row(id));
    found->removed_ms = removed_ms;
    return {};
  }

  std::map<ChatId, Chat> rows_;
  std::map<std::string, std::string> settings_;
  MemoryJournal journal_;
  Faults messages_fail_{.n = 0}, setups_fail_{.n = 0}, settings_fail_{.n = 0};
};

// What a disk would hold.
struct MemoryChats {
  MemoryChatLibrary library;
  MemoryRecordStore records;
};

class MemoryChatStore : public runtime::ChatStore {
 public:
  explicit MemoryChatStore(std::shared_ptr<MemoryChats> chats) : chats_(std::move(chats)) {}
  runtime::ChatLibrary& library() override { return chats_->library; }
  kvcache::RecordStore* records() override { return &chats_->records; }
  std::vector<std::string> notices() const override { return {}; }
  Result<void> delete_now(runtime::ChatId chat) override {
    SATCHEL_TRY(chats_->records.drop(runtime::cache_key(chat)));
    chats_->library.erase(chat);
    return {};
  }
  Result<std::size_t> purge_expired() override { return std::size_t{0}; }

 private:
  std::shared_ptr<MemoryChats> chats_;
};

}  // namespace satchel::test
