// Library: the precious file library.db: chats, their messages and the settings. It is the Journal
// a session commits to.
//   invariants 1 what append, finish and the chat operations return ok for is on disk (WAL,
//                synchronous=FULL)
//              2 parts of a streaming answer are on disk after 250 ms or 32 tokens, counted at the
//                calls of extend; flush() brings the rest where calls cease
//              3 opened for writing, no message is `streaming` but those begun since: what a dead
//                process left so is `interrupted` and keeps its words
//              4 nothing is deleted but by purge(); remove() hides a chat for 30 days, truncate()
//                hides messages
//              5 order is that of sequence numbers, never of the clock
//   errors     DISK_FULL, READ_ONLY, LIBRARY_DAMAGED, SCHEMA_NEWER, STORAGE, MEMORY; CHAT_NOT_FOUND,
//              MESSAGE_NOT_FOUND, CHAT_EXISTS, MESSAGE_STATE, MESSAGE_SIZE. After an error of the
//              disk the file is closed, reopened and checked by the next call
//   threads    one call at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/clock.h"
#include "kernels/base/log_sink.h"
#include "kernels/base/result.h"
#include "kvcache/snapshot/journal.h"

namespace satchel::storage {

using kvcache::ChatId;
using kvcache::MessageId;

// Chosen, not measured: the size of a long book; a loss nobody notices; a month to change one's mind.
inline constexpr std::size_t kMessageBytesMax = 16u << 20;
inline constexpr double kStreamMsMax = 250;
inline constexpr std::size_t kStreamTokensMax = 32;
inline constexpr std::int64_t kDeletedDaysKept = 30;

// With what a chat runs. Storage reads none of it.
struct ChatSetup {
  std::string model_fingerprint = {}, model_path = {};
  std::string recipe_json = {};
  std::uint64_t budget_bytes = 0;          // 0: the default
  std::optional<std::string> system = {};  // none: the template's own
};

struct NewChat {
  std::string name = {};  // what `--chat NAME` continues; unique among chats not removed; may be ""
  std::string title = {};  // what people see; may be ""
  ChatSetup setup;
};

struct Chat {
  ChatId id;
  std::string name, title;
  ChatSetup setup;
  std::int64_t created_ms = 0, used_ms = 0;  // since 1970, UTC; used: the last message
  std::optional<std::int64_t> removed_ms;
  // On the way to the last message; without what an answer gained while it streams.
  std::size_t n_messages = 0, n_tokens = 0;
};

enum class OpenMode {
  read_write,  // one process at a time
  read_only,   // beside a writing process; changes nothing
};
enum class ChatFilter { kept, removed };
// What becomes of a name that another kept chat has.
enum class NameTaken {
  refuse,  // CHAT_EXISTS
  number,  // "notes (2)"
};

struct LibraryOptions {
  std::filesystem::path path = {};  // library.db in a folder that is ours
  OpenMode mode = OpenMode::read_write;
  const Clock* clock = nullptr;  // not owned
  LogSink log = {};
  bool check = false;  // the last process ended without closing: quick_check
  std::optional<Error> read_only_reason = {};  // with read_only: what writing calls answer
  std::string vfs = {};  // SQLite's default if empty; tests break disks with it
};

struct LibraryReport {
  std::optional<Error> read_only;  // why nothing can be written; none: writing works
  std::size_t n_interrupted = 0;   // answers that a dead process left streaming
  std::filesystem::path backup;    // made before a migration; empty: there was none
};

class Library final : public kvcache::Journal {
 public:
  // needs   the folder's lock, for read_write (Store holds it)
  // errors  NO_LIBRARY (not_found): read_only, and there is none yet; LIBRARY_DAMAGED: not a library
  //         at all. A newer schema, a read-only disk and a damaged file open read-only (see report)
  static Result<std::unique_ptr<Library>> open(LibraryOptions options);
  ~Library() override;  // flushes
  Library(Library&&) = delete;

  const LibraryReport& report() const;
  // Told apart from every other library, so that caches of one are never taken for another's.
  const std::string& library_id() const;

  Result<ChatId> create_chat(const NewChat& chat, NameTaken taken = NameTaken::refuse);
  // By id also removed chats; by name only kept ones, exactly as written.
  Result<Chat> chat(ChatId id);
  Result<std::optional<Chat>> find_chat(std::string_view name);
  // The one used last comes first.
  Result<std::vector<Chat>> chats(ChatFilter filter = ChatFilter::kept);
  Result<void> rename_chat(ChatId id, std::string_view name);
  Result<void> set_title(ChatId id, std::string_view title);
  // Title and name at once; where another kept chat has that name, this one keeps its own.
  Result<void> retitle_chat(ChatId id, std::string_view title);
  Result<void> set_setup(ChatId id, const ChatSetup& setup);
  Result<void> remove_chat(ChatId id);
  // A name taken meanwhile gets a number: "notes (2)".
  Result<void> restore_chat(ChatId id);
  // Chats removed more than kDeletedDaysKept days ago.
  Result<std::vector<ChatId>> expired_chats();
  // Deletes the rows, overwrites them and empties the write-ahead log. No undo; Store::delete_now
  // also takes the blocks.
  Result<void> purge_chat(ChatId id);

  Result<std::vector<MessageId>> append_all(ChatId chat,
                                            std::span<const kvcache::NewMessage> messages) override;
  Result<void> extend(MessageId message, std::string_view text,
                      std::span<const std::int32_t> tokens) override;
  Result<void> finish(MessageId message, kvcache::MessageState state, std::string_view text,
                      std::span<const std::int32_t> tokens) override;
  Result<void> truncate(ChatId chat, MessageId last) override;
  // A damaged message comes as `damaged`, without text and tokens.
  Result<std::vector<kvcache::StoredMessage>> messages(ChatId chat) override;
  // Settings called "chat.ID.NAME".
  Result<void> set_note(ChatId chat, std::string_view name, std::string_view text) override;
  Result<std::optional<std::string>> note(ChatId chat, std::string_view name) override;
  // Commits what extend still holds in memory.
  Result<void> flush();

  Result<std::optional<std::string>> setting(std::string_view key);
  Result<void> set_setting(std::string_view key, std::string_view value);
  Result<void> unset_setting(std::string_view key);

 private:
  struct State;
  explicit Library(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::storage
