// ChatStore: where chats outlive the program: an interface, which storage implements over SQLite.
//   errors   storage's: DISK_FULL, READ_ONLY, LIBRARY_DAMAGED …; CHAT_NOT_FOUND, CHAT_EXISTS
//   threads  one call at a time, for the store and what it owns together
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/snapshot/record_store.h"
#include "runtime/contract/chat_search.h"
#include "runtime/contract/journal.h"

namespace satchel::runtime {

// What a chat runs with. A store keeps it and does not read it.
struct ChatSetup {
  std::string model_fingerprint = {}, model_path = {};
  std::string recipe_json = {};
  std::uint64_t budget_bytes = 0;          // 0: the default
  std::optional<std::string> system = {};  // none: the template's own
};

struct NewChat {
  std::string name = {};   // by which a chat is found again; unique among kept chats, may be ""
  std::string title = {};  // what people see; may be ""
  ChatSetup setup;
};

// Where lists that people see have a chat. The order of chats() is that of use.
enum class ListPlace { by_use, top };

inline constexpr std::string_view kFolderNote = "folder";
// The id of an answer that people stopped.
inline constexpr std::string_view kStoppedNote = "stopped";
inline constexpr std::string_view kPlaceNote = "place", kPlaceTop = "top";

struct Chat {
  ChatId id;
  std::string name, title;
  ChatSetup setup;
  std::int64_t created_ms = 0, used_ms = 0;  // since 1970, UTC; used: the last message
  std::optional<std::int64_t> removed_ms;
  // On the path to the last message; without what an answer gained while it streams.
  std::size_t n_messages = 0, n_tokens = 0;
  MessageId last = {};      // message; 0: there is none
  std::string folder = {};  // that people put it in; "": none. The chat's note kFolderNote
  ListPlace place = ListPlace::by_use;  // top: its note kPlaceNote is kPlaceTop
  // The answer that people stopped last: it is done, although it is `interrupted`; 0: none. The
  // note kStoppedNote.
  MessageId stopped = {};
  // What people call it.
  const std::string& shown_name() const { return name.empty() ? title : name; }
};

// A copy of all chats that an update of the store left. It has the words of those deleted since.
struct LibraryCopy {
  std::string name;  // by which it is deleted
  std::uint64_t bytes = 0;
  std::int64_t written_ms = 0;  // since 1970, UTC
};

enum class ChatFilter { present, removed };
// What happens to a name that another kept chat has.
enum class NameTaken {
  refuse,  // CHAT_EXISTS
  number,  // "notes (2)"
};

// The chats, their messages (Journal), and the settings of the program.
class ChatLibrary : public Journal {
 public:
  virtual Result<ChatId> create_chat(const NewChat& chat, NameTaken taken = NameTaken::refuse) = 0;
  // By id also removed chats; by name only kept ones, exactly as written.
  virtual Result<Chat> chat(ChatId id) = 0;
  virtual Result<std::optional<Chat>> find_chat(std::string_view name) = 0;
  // The one used last comes first.
  virtual Result<std::vector<Chat>> chats(ChatFilter filter = ChatFilter::present) = 0;
  // Title and name at once; where another kept chat has that name, this one keeps its own.
  virtual Result<void> retitle_chat(ChatId id, std::string_view title) = 0;
  virtual Result<void> set_setup(ChatId id, const ChatSetup& setup) = 0;
  // Hides a chat; restore_chat() brings it back, with a number where its name was taken meanwhile.
  virtual Result<void> remove_chat(ChatId id) = 0;
  virtual Result<void> restore_chat(ChatId id) = 0;

  virtual Result<std::optional<std::string>> setting(std::string_view key) = 0;
  virtual Result<void> set_setting(std::string_view key, std::string_view value) = 0;
};

// The shelf: documents that have been read, for other chats to begin with. One is there as long as
// a chat is that read it first, or until it is removed where somebody keeps it.
struct ShelvedDocument {
  std::string hash, title;   // document_hash() of its text
  bool is_kept = false;      // it stays when its chat goes
  ChatId chat = {};          // that read it; 0: none, or one that is gone
  std::int64_t used_ms = 0;  // kept: last time it was put there; else: the chat's
  std::vector<kvcache::SavedCache> caches = {};  // as it was read: model, recipe, tokens, bytes
};

class ChatStore {
 public:
  virtual ~ChatStore() = default;
  virtual ChatLibrary& library() = 0;
  // nullptr where there is no place for saved caches: reopening then takes longer.
  virtual kvcache::RecordStore* records() = 0;
  // In all present chats, the best first.
  //   errors  SEARCH_WORDS: nothing to look for; UNSUPPORTED where the store cannot search
  virtual Result<std::vector<Found>> search(const SearchQuery& query);
  // Those that are kept first. A store that has no shelf has an empty one.
  virtual Result<std::vector<ShelvedDocument>> shelf() { return std::vector<ShelvedDocument>(); }
  // Whether or not it has been read: its words stay until it is removed.
  //   errors  UNSUPPORTED where the store has no shelf
  virtual Result<void> keep_document(std::string_view title, std::string_view text);
  //   errors  DOC_NOT_FOUND
  virtual Result<std::string> document_text(std::string_view hash);
  // Its words and what was saved of it, at once and for good; chats that have it keep it.
  virtual Result<void> remove_document(std::string_view hash);
  // For people: why nothing can be written, or why saved caches are gone.
  virtual std::vector<std::string> notices() const = 0;
  // The chat's messages and its saved cache, at once and for good.
  virtual Result<void> delete_now(ChatId chat) = 0;
  // Those that are still there, the newest first. One that is deleted does not come back.
  //   errors  not_found, NO_COPY; READ_ONLY where a copy may be all that is left of a message
  virtual std::vector<LibraryCopy> copies() const { return {}; }
  virtual Result<void> delete_copy(std::string_view name);
  // delete_now() for all chats that were removed long ago; how many. A store that cannot be written
  // has none.
  virtual Result<std::size_t> purge_expired() = 0;
  // Saved caches of chats that lay unused for long become smaller and a little less exact
  // (kvcache/snapshot/thin.h), where the store was asked to; how many did.
  //   open    chats that are left alone
  //   errors  cancelled/STOPPED: the others another time
  virtual Result<std::size_t> thin_unused(std::span<const ChatId> /*open*/,
                                          const std::stop_token& /*stop*/) {
    return std::size_t{0};
  }
};

inline Error no_shelf() {
  return {ErrorKind::unsupported, "UNSUPPORTED", "Documents cannot be kept here."};
}
inline Result<void> ChatStore::keep_document(std::string_view, std::string_view) {
  return no_shelf();
}
inline Result<std::string> ChatStore::document_text(std::string_view) {
  return no_shelf();
}
inline Result<void> ChatStore::remove_document(std::string_view) {
  return no_shelf();
}

inline Result<std::vector<Found>> ChatStore::search(const SearchQuery&) {
  return Error{ErrorKind::unsupported, "UNSUPPORTED", "These chats cannot be searched."};
}

inline Result<void> ChatStore::delete_copy(std::string_view name) {
  return Error{ErrorKind::not_found, "NO_COPY",
               "There is no copy of the chats called \"" + std::string(name) + "\"."};
}

}  // namespace satchel::runtime
