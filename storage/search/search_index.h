// SearchIndex: the words of all present chats in search-LIBRARY.db, so that a passage is found at
// once. It has the library's id in its name, so two libraries in one folder do not meet.
//   disposable  made again from the library wherever it is missing, damaged, of another version or
//               of another library. Each search brings it up to date first, chat by chat
//   holds       the text of the messages a second time: where a chat is deleted for good the file
//               goes with it
//               Where it cannot be written, it is made in memory for one search
//   errors      CACHE_DAMAGED (after one new try); of the library; SEARCH_WORDS: nothing to look
//               for
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

using runtime::Found;
using runtime::SearchQuery;

class SearchIndex {
 public:
  explicit SearchIndex(std::filesystem::path file, std::string vfs = {}, std::string key = {});
  // The best first.
  Result<std::vector<Found>> find(Library& library, const SearchQuery& query);
  // Deletes the file, and so all words that it has.
  Result<void> forget();

 private:
  std::filesystem::path path_;
  std::string vfs_, key_;
};

inline constexpr std::string_view kSearchIndexBegins = "satchel-search-";
std::filesystem::path search_index_of(const std::filesystem::path& folder,
                                      const std::string& library_id);
// What FTS5 is asked for these words; "": there is none.
std::string fts_query(std::string_view words);

}  // namespace satchel::storage
