// Library: the precious file library.db with chats, messages and settings. It implements the
// Journal to which sessions commit.
//   invariants 1 everything for which append, finish and chat operations returned ok is on disk
//                (WAL or a rollback journal, synchronous=FULL)
//              2 parts of a streaming answer are on disk after 250 ms or 32 tokens, checked in each
//                call of extend; flush() saves the rest if no calls follow
//              3 after opening for writing, only messages begun since then are `streaming`. Those
//                of a process that died become `interrupted` and keep their text
//              4 only purge_chat() and purge_document() delete words, and drop_expired_backups()
//                copies of them;
//                remove_chat() hides a chat for 30 days, truncate() hides messages
//              5 order follows sequence numbers, never the clock
//   errors     DISK_FULL, READ_ONLY, LIBRARY_DAMAGED, SCHEMA_NEWER, STORAGE, MEMORY;
//              CHAT_NOT_FOUND, MESSAGE_NOT_FOUND, CHAT_EXISTS, MESSAGE_STATE, MESSAGE_SIZE. After
//              a disk error the next call closes, reopens and checks the file
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
#include "runtime/contract/chat_store.h"

namespace satchel::storage {

using runtime::Chat;
using runtime::ChatFilter;
using runtime::ChatId;
using runtime::ChatSetup;
using runtime::MessageId;
using runtime::NameTaken;
using runtime::NewChat;

// Chosen, not measured: the size of a long book; an unnoticeable loss; a month to undo a deletion.
inline constexpr std::size_t kMessageBytesMax = 16u << 20;
inline constexpr double kStreamMsMax = 250;
inline constexpr std::size_t kStreamTokensMax = 32;
inline constexpr std::int64_t kDeletedDaysKept = 30;

enum class OpenMode {
  read_write,  // one process at a time
  read_only,   // possible beside a writing process; changes nothing
};

struct LibraryOptions {
  std::filesystem::path path = {};  // library.db in a folder that is ours
  OpenMode mode = OpenMode::read_write;
  const Clock* clock = nullptr;  // not owned
  LogSink log = {};
  bool check = false;  // run quick_check, because the last process ended uncleanly
  std::optional<Error> read_only_reason = {};  // with read_only: the error of writing calls
  std::string vfs = {};  // empty: SQLite's default; tests simulate disk faults with it
  std::string key = {};  // that fits (check_key()); empty: not encrypted
};

// A document that people keep for other chats.
struct KeptDocument {
  std::string hash, title;    // runtime::document_hash() of its text
  std::uint64_t n_bytes = 0;  // of its text
  std::int64_t used_ms = 0;   // since 1970, UTC
};

struct LibraryReport {
  // Why the library cannot be written; none: it can. Where the reason may pass (a full disk), the
  // next call that writes tries again.
  std::optional<Error> read_only;
  std::size_t n_interrupted = 0;  // answers still streaming when their process died
  bool has_shared_memory = true;  // false, of one that was written: it lies on a network disk
  std::filesystem::path backup;   // made before a migration; empty: no migration
};

class Library final : public runtime::ChatLibrary {
 public:
  // needs   the folder's lock, for read_write (Store holds it)
  // errors  NO_LIBRARY (not_found): read_only without an existing file; LIBRARY_DAMAGED: the file
  //         is no library. A newer schema, a read-only disk or a damaged file open read-only (see
  //         report)
  static Result<std::unique_ptr<Library>> open(LibraryOptions options);
  ~Library() override;  // flushes
  Library(Library&&) = delete;

  const LibraryReport& report() const;
  // Whether damage of the file was found. It is read from then on, or its log is written, but not
  // the file itself.
  bool found_damage() const;
  // Whether LibraryOptions::check was asked for and is still to be made.
  bool owes_check() const;
  // Unique, so that the caches of one library are never used for another.
  const std::string& library_id() const;

  Result<ChatId> create_chat(const NewChat& chat, NameTaken taken = NameTaken::refuse) override;
  // A chat with its messages, at once or not at all; none of them streams. Where its name is taken
  // it gets a number.
  Result<ChatId> add_chat(const NewChat& chat, std::span<const runtime::NewMessage> messages);
  Result<Chat> chat(ChatId id) override;
  Result<std::optional<Chat>> find_chat(std::string_view name) override;
  Result<std::vector<Chat>> chats(ChatFilter filter = ChatFilter::present) override;
  Result<void> retitle_chat(ChatId id, std::string_view title) override;
  Result<void> set_setup(ChatId id, const ChatSetup& setup) override;
  Result<void> remove_chat(ChatId id) override;
  Result<void> restore_chat(ChatId id) override;
  // Chats removed more than kDeletedDaysKept days ago, and on so many days of use since as
  // use_days.h says: a clock that is wrong deletes nothing.
  Result<std::vector<ChatId>> expired_chats();
  // Copies all that is committed to a new file, also beside a process that writes. What fails
  // leaves no file.
  Result<void> copy_to(const std::filesystem::path& file);
  // The same, under another key; empty: not encrypted.
  Result<void> copy_under_key(const std::filesystem::path& file, const std::string& key);
  // Deletes the backups that are as old: they have the words of chats deleted since. How many.
  Result<std::size_t> drop_expired_backups();
  // Deletes and overwrites the rows and empties the write-ahead log. No undo. Store::delete_now
  // also deletes the chat's saved caches.
  Result<void> purge_chat(ChatId id);

  Result<std::vector<MessageId>> append_behind(ChatId chat, std::optional<MessageId> last,
                                               std::span<const runtime::NewMessage> messages,
                                               const runtime::NoteBeside* note) override;
  Result<void> extend(MessageId message, std::string_view text,
                      std::span<const std::int32_t> tokens) override;
  Result<void> finish(MessageId message, runtime::MessageState state, std::string_view text,
                      std::span<const std::int32_t> tokens) override;
  Result<void> truncate(ChatId chat, MessageId last) override;
  // A damaged message comes as `damaged`, without text and tokens; so does one whose row is gone,
  // where the others and the chat's counters show it. Its id is below 0 if nobody knows it.
  Result<std::vector<runtime::StoredMessage>> messages(ChatId chat) override;
  Result<std::vector<runtime::MessageLink>> tree(ChatId chat) override;
  // Settings called "chat.ID.NAME".
  Result<void> set_note(ChatId chat, std::string_view name, std::string_view text) override;
  Result<std::optional<std::string>> note(ChatId chat, std::string_view name) override;
  // Again: under the new title.
  Result<void> keep_document(std::string_view title, std::string_view text);
  // The one used last comes first.
  Result<std::vector<KeptDocument>> kept_documents();
  //   errors  DOC_NOT_FOUND; LIBRARY_DAMAGED: its text is not what was kept
  Result<std::string> document_text(std::string_view hash);
  Result<void> purge_document(std::string_view hash);  // as purge_chat()
  // A document that the chat has, or had before it was cut.
  struct ChatDocument {
    std::string title, text;
  };
  Result<std::optional<ChatDocument>> chat_document(ChatId chat, std::string_view hash);
  // Commits the parts that extend still holds in memory.
  Result<void> flush();

  Result<std::optional<std::string>> setting(std::string_view key) override;
  Result<void> set_setting(std::string_view key, std::string_view value) override;

 private:
  struct State;
  explicit Library(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::storage
