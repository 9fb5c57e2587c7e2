// SearchIndex: the words of all present chats in search-LIBRARY.db, so that a passage is found at
// once. It has the library's id in its name, so two libraries in one folder do not meet.
//   disposable  made again from the library wherever it is missing, damaged, of another version or
//               of another library. Each search brings it up to date first, chat by chat
//   holds       the text of the messages a second time: where a chat is deleted for good the file
//               goes with it
//   errors      CACHE_DAMAGED (after one new try), DISK_FULL, READ_ONLY, STORAGE; SEARCH_WORDS:
//               nothing to look for
//   threads     one call at a time; other processes may search too
//   source      sqlite.org/fts5.html
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "storage/library/library.h"

namespace satchel::storage {

struct SearchQuery {
  // Words that a message has all of, in any order and form of letter (case, accents); the last one
  // may be a beginning. What stands in "…" is found as it stands there.
  std::string words;
  std::size_t n_most = 20;
};
struct Found {
  ChatId chat;
  std::string chat_name;
  MessageId message;     // 0: the chat's title
  std::string role;      // "user", "assistant", "system"; "": the title
  std::string document;  // title of the document that the message is; "": it is none
  std::string passage;   // some words around the first hits
  // Of the passage, what was found: bytes from, to.
  std::vector<std::pair<std::size_t, std::size_t>> hits;
};

class SearchIndex {
 public:
  explicit SearchIndex(std::filesystem::path file, std::string vfs = {});
  // The best first.
  Result<std::vector<Found>> find(Library& library, const SearchQuery& query);
  // Deletes the file, and so all words that it has.
  Result<void> forget();

 private:
  std::filesystem::path path_;
  std::string vfs_;
};

inline constexpr std::string_view kSearchIndexBegins = "satchel-search-";
std::filesystem::path search_index_of(const std::filesystem::path& folder,
                                      const std::string& library_id);
// What FTS5 is asked for these words; "": there is none.
std::string fts_query(std::string_view words);

}  // namespace satchel::storage
