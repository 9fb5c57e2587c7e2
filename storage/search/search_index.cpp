#include "storage/search/search_index.h"

#include <map>
#include <system_error>
#include <utility>

#include "kernels/base/assert.h"
#include "storage/folder/folder.h"
#include "storage/library/state.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using runtime::MessageState;
using runtime::StoredMessage;

constexpr std::int64_t kApplicationId = 0x53535243;  // "SSRC"
constexpr std::int64_t kVersion = 1;
constexpr const char* kSchema =
    "PRAGMA application_id = 0x53535243; PRAGMA user_version = 1;"
    "CREATE TABLE meta(library_id TEXT NOT NULL) STRICT;"
    // What a chat was when it was read: it is read again once that differs.
    "CREATE TABLE chat(id INTEGER PRIMARY KEY, mark TEXT NOT NULL) STRICT;"
    "CREATE TABLE entry(id INTEGER PRIMARY KEY, chat INTEGER NOT NULL, message INTEGER NOT NULL,"
    " role TEXT NOT NULL, document TEXT NOT NULL) STRICT;"
    "CREATE INDEX entry_of_chat ON entry(chat);"
    "CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');";
// Between these stand the hits of a passage. No text has them: C0 controls other than white space
// are taken out before.
constexpr char kHitBegins = '\x02', kHitEnds = '\x03';
constexpr int kPassageWords = 24;

Error other_index() {
  return {ErrorKind::corrupt, "CACHE_DAMAGED", "The search index is of another library."};
}

std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    out += is_control ? ' ' : c;
  }
  return out;
}

std::string mark_of(const Chat& chat) {
  return std::to_string(chat.used_ms) + " " + std::to_string(chat.n_messages) + " " +
         std::to_string(chat.n_tokens) + " " + std::to_string(chat.last.value) + " " +
         chat.shown_name();
}

// An empty file gets the tables; one that is not ours is an error.
Result<void> make_or_check(Connection& db, const std::string& library_id) {
  SATCHEL_TRY_ASSIGN(const std::int64_t n_tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  if (n_tables == 0) {
    SATCHEL_TRY(db.exec(kSchema));
    SATCHEL_TRY_ASSIGN(Query insert, db.prepare("INSERT INTO meta VALUES(?1)"));
    return insert.bind(1, library_id).run();
  }
  SATCHEL_TRY_ASSIGN(const std::int64_t application, db.integer("PRAGMA application_id"));
  SATCHEL_TRY_ASSIGN(const std::int64_t version, db.integer("PRAGMA user_version"));
  if (application != kApplicationId || version != kVersion) return other_index();
  SATCHEL_TRY_ASSIGN(Query owner, db.prepare("SELECT library_id FROM meta"));
  SATCHEL_TRY_ASSIGN(const bool found, owner.step());
  if (!found || owner.text_at(0) != library_id) return other_index();
  return {};
}

// The file beside a library, brought up to date.
class Writer {
 public:
  Writer(Connection& db, Library& library) : db_(db), library_(library) {}

  Result<void> bring_up_to_date() {
    SATCHEL_TRY_ASSIGN(const std::vector<Chat> chats, library_.chats());
    SATCHEL_TRY_ASSIGN(auto known, marks());
    for (const Chat& chat : chats) {
      const auto before = known.find(chat.id.value);
      const bool is_current = before != known.end() && before->second == mark_of(chat);
      if (before != known.end()) known.erase(before);
      if (!is_current) SATCHEL_TRY(read(chat));
    }
    for (const auto& [chat, mark] : known) SATCHEL_TRY(drop(chat));  // they are gone or removed
    return {};
  }

 private:
  Result<std::map<std::int64_t, std::string>> marks() {
    std::map<std::int64_t, std::string> known;
    SATCHEL_TRY_ASSIGN(Query rows, db_.prepare("SELECT id, mark FROM chat"));
    for (;;) {
      SATCHEL_TRY_ASSIGN(const bool row, rows.step());
      if (!row) return known;
      known.emplace(rows.integer_at(0), rows.text_at(1));
    }
  }

  Result<void> drop(std::int64_t chat) {
    for (const char* sql :
         {"DELETE FROM words WHERE rowid IN (SELECT id FROM entry WHERE chat = ?1)",
          "DELETE FROM entry WHERE chat = ?1", "DELETE FROM chat WHERE id = ?1"}) {
      SATCHEL_TRY_ASSIGN(Query query, db_.prepare(sql));
      SATCHEL_TRY(query.bind(1, chat).run());
    }
    return {};
  }

  Result<void> read(const Chat& chat) {
    SATCHEL_TRY(drop(chat.id.value));
    SATCHEL_TRY(add(chat, {}, chat.shown_name()));
    SATCHEL_TRY_ASSIGN(const std::vector<StoredMessage> messages, library_.messages(chat.id));
    for (const StoredMessage& message : messages)
      if (message.state != MessageState::damaged) SATCHEL_TRY(add(chat, message, message.text));
    SATCHEL_TRY_ASSIGN(Query insert, db_.prepare("INSERT INTO chat VALUES(?1, ?2)"));
    const std::string mark = mark_of(chat);
    return insert.bind(1, chat.id.value).bind(2, mark).run();
  }

  // Without an id it is the chat's title.
  Result<void> add(const Chat& chat, const StoredMessage& message, std::string_view text) {
    const bool is_title = message.id.value == 0;
    {
      SATCHEL_TRY_ASSIGN(Query entry, db_.prepare("INSERT INTO entry(chat, message, role, document)"
                                                  " VALUES(?1, ?2, ?3, ?4)"));
      const std::string_view role = is_title ? std::string_view() : name_of(message.role);
      SATCHEL_TRY(entry.bind(1, chat.id.value)
                      .bind(2, message.id.value)
                      .bind(3, role)
                      .bind(4, std::string_view(message.title))
                      .run());
    }
    SATCHEL_TRY_ASSIGN(Query words, db_.prepare("INSERT INTO words(rowid, text) "
                                                "VALUES(last_insert_rowid(), ?1)"));
    const std::string plain = without_controls(text);
    return words.bind(1, std::string_view(plain)).run();
  }

  Connection& db_;
  Library& library_;
};

// Takes the marks of hits out of a passage.
Found with_passage(Found found, std::string_view marked) {
  std::size_t from = 0;
  for (const char c : marked) {
    if (c == kHitBegins) {
      from = found.passage.size();
    } else if (c == kHitEnds) {
      found.hits.emplace_back(from, found.passage.size());
    } else {
      found.passage += c == '\n' ? ' ' : c;
    }
  }
  return found;
}

Result<std::vector<Found>> look_up(Connection& db, Library& library, const std::string& asked,
                                   std::size_t n_most) {
  SATCHEL_TRY_ASSIGN(
      Query query,
      db.prepare("SELECT e.chat, e.message, e.role, e.document, snippet(words, 0, ?2, ?3, '…', ?4) "
                 "FROM words JOIN entry e ON e.id = words.rowid WHERE words MATCH ?1 "
                 "ORDER BY words.rank, e.message DESC LIMIT ?5"));
  query.bind(1, std::string_view(asked))
      .bind(2, std::string_view(&kHitBegins, 1))
      .bind(3, std::string_view(&kHitEnds, 1))
      .bind(4, std::int64_t{kPassageWords})
      .bind(5, static_cast<std::int64_t>(n_most));
  SATCHEL_TRY_ASSIGN(std::vector<Found> all, query.all([](const Query& row) {
    Found found{.chat = {row.integer_at(0)},
                .chat_name = {},
                .message = {row.integer_at(1)},
                .role = row.text_at(2),
                .document = row.text_at(3),
                .passage = {},
                .hits = {}};
    return with_passage(std::move(found), row.text_at(4));
  }));
  for (Found& found : all) {
    SATCHEL_TRY_ASSIGN(const Chat chat, library.chat(found.chat));
    found.chat_name = chat.shown_name();
  }
  return all;
}

// In one transaction: two programs that search at once make one index.
Result<void> update(Connection& db, Library& library) {
  SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
  SATCHEL_TRY(make_or_check(db, library.library_id()));
  SATCHEL_TRY(Writer(db, library).bring_up_to_date());
  return change.commit();
}

Result<std::vector<Found>> find_in(const ConnectionOptions& file, Library& library,
                                   const std::string& asked, std::size_t n_most) {
  if (!file.path.empty()) {
    SATCHEL_TRY(make_private_folder_of(file.path));
    SATCHEL_TRY(make_private_file(file.path));
  }
  SATCHEL_TRY_ASSIGN(Connection db, Connection::open(file));
  SATCHEL_TRY(update(db, library));
  return look_up(db, library, asked, n_most);
}

}  // namespace

// Each word is a string of FTS5's, in which only quotation marks mean something.
std::string fts_query(std::string_view words) {
  std::string query;
  bool is_beginning = false;
  for (std::size_t at = 0; at < words.size();) {
    const bool is_quoted = words[at] == '"';
    if (!is_quoted && static_cast<unsigned char>(words[at]) <= ' ') {
      ++at;
      continue;
    }
    const std::size_t from = is_quoted ? at + 1 : at;
    std::size_t end = from;
    while (end < words.size() && words[end] != '"' &&
           (is_quoted ? words[end] != '\0' : static_cast<unsigned char>(words[end]) > ' '))
      ++end;
    const std::string_view word = words.substr(from, end - from);
    is_beginning = !is_quoted && end == words.size();
    if (!word.empty()) query += (query.empty() ? "\"" : " \"") + std::string(word) + "\"";
    at = is_quoted || (end < words.size() && words[end] == '\0') ? end + 1 : end;
  }
  return query.empty() || !is_beginning ? query : query + "*";
}

fs::path search_index_of(const fs::path& folder, const std::string& library_id) {
  return folder / (std::string(kSearchIndexBegins) + library_id + ".db");
}

SearchIndex::SearchIndex(fs::path file, std::string vfs, std::string key)
    : path_(std::move(file)), vfs_(std::move(vfs)), key_(std::move(key)) {}

Result<std::vector<Found>> SearchIndex::find(Library& library, const SearchQuery& query) {
  const std::string asked = fts_query(query.words);
  if (asked.empty())
    return Error{ErrorKind::invalid, "SEARCH_WORDS", "There is nothing to look for. Give words."};
  const ConnectionOptions file{path_, Access::read_write, Content::cache, vfs_, key_};
  auto found = find_in(file, library, asked, query.n_most);
  if (!found.ok() && found.error().code == "CACHE_DAMAGED") {
    SATCHEL_TRY(forget());
    found = find_in(file, library, asked, query.n_most);
  }
  if (found.ok() || found.error().kind != ErrorKind::storage) return found;
  // There is no place for the file: all chats are read for this search alone.
  const ConnectionOptions memory{{}, Access::read_write, Content::cache, {}, {}};
  return find_in(memory, library, asked, query.n_most);
}

Result<void> SearchIndex::forget() {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const fs::path file = path_.string() + suffix;
    std::error_code error, unknown;
    fs::remove(file, error);
    if (error && fs::exists(file, unknown))
      return Error{ErrorKind::storage, "STORAGE",
                   "The search index \"" + file.string() +
                       "\" could not be deleted. Close other programs that use it and try again."};
  }
  return {};
}

}  // namespace satchel::storage
