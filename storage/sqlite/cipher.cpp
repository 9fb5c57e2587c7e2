#include "storage/sqlite/cipher.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "storage/folder/backups.h"
#include "storage/folder/folder.h"
#include "storage/sqlite/handle.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view kPlain("SQLite format 3\0", 16);

// The first 16 bytes: of a plain file SQLite's mark, of an encrypted one its salt.
std::string begin_of(const fs::path& file) {
  std::array<char, kPlain.size()> begin{};
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), begin.size());
  return {begin.data(), static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0))};
}

Error key_error(const fs::path& file, const std::string& what) {
  return {ErrorKind::invalid, "LIBRARY_KEY",
          "\"" + file.string() + "\" " + what + " Nothing was changed."};
}

Error no_cipher(const fs::path& file, const std::string& is) {
  return key_error(file, is + ", and this Satchel was built without encryption.");
}

#ifdef SQLITE_HAS_CODEC
// Records want large pages, as Connection::open() says.
constexpr const char* kCachePages = "cipher_page_size=32768";

// Writes what is attached as `copy`.
Result<void> fill_copy(Connection& from, Handle& handle, const std::string& key) {
  const bool is_cache = handle.content == Content::cache;
  if (is_cache && !key.empty())
    SATCHEL_TRY(from.exec((std::string("PRAGMA copy.") + kCachePages).c_str()));
  if (is_cache && key.empty()) SATCHEL_TRY(from.exec("PRAGMA copy.page_size=32768"));
  if (is_cache) SATCHEL_TRY(from.exec("PRAGMA copy.auto_vacuum=INCREMENTAL"));
  // It writes the table of tables itself.
  sqlite3_db_config(handle.db, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  const Result<void> exported = from.exec("SELECT sqlcipher_export('copy')");
  sqlite3_db_config(handle.db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  SATCHEL_TRY(exported);
  for (const char* number : {"application_id", "user_version"}) {
    const std::string name = number;
    SATCHEL_TRY_ASSIGN(const std::int64_t value, from.integer(("PRAGMA main." + name).c_str()));
    SATCHEL_TRY(from.exec(("PRAGMA copy." + name + "=" + std::to_string(value)).c_str()));
  }
  return {};
}

Result<void> check_copy(const fs::path& file, const std::string& key, Content content) {
  SATCHEL_TRY_ASSIGN(Connection opened,
                     Connection::open({file, Access::read_only_media, content, {}, key}));
  SATCHEL_TRY(opened.quick_check());
  return sync_file(file);
}
#endif
}  // namespace

bool has_cipher() {
#ifdef SQLITE_HAS_CODEC
  return true;
#else
  return false;
#endif
}

// Of random bytes one in 2,000 or so is not seen as such: then the file is called damaged.
bool seems_encrypted(const fs::path& file) {
  std::error_code unknown;
  const std::string begin = begin_of(file);
  if (fs::file_size(file, unknown) < 512 || unknown || begin.size() < kPlain.size()) return false;
  std::size_t n_same = 0, n_high = 0;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    n_same += begin[i] == kPlain[i] ? 1u : 0u;
    n_high += static_cast<unsigned char>(begin[i]) >= 0x80 ? 1u : 0u;
  }
  return n_same < 4 && n_high > 1 && std::set(begin.begin(), begin.end()).size() > 8;
}

Result<void> check_key(const fs::path& file, const std::string& key, const std::string& vfs) {
  if (!key.empty() && !has_cipher()) return no_cipher(file, "was to be encrypted");
  if (is_empty_or_missing(file)) return {};
  if (key.empty() && seems_encrypted(file))
    return has_cipher() ? key_error(file, "is encrypted: its key is needed (--key-file FILE).")
                        : no_cipher(file, "is encrypted");
  if (key.empty()) return {};  // what is wrong with it else is found when it is opened
  if (begin_of(file) == kPlain)
    return key_error(file, "is not encrypted. Run `satchel encrypt`, or give no key.");
  const auto opens = [&](Access access) {
    auto opened = Connection::open({file, access, Content::library, vfs, key});
    return opened.ok() && opened.value().integer("SELECT count(*) FROM sqlite_schema").ok();
  };
  if (opens(Access::read_only_media)) return {};
  // The file's beginning may stand whole in a log only; a journal is read when it is rolled back.
  const std::optional<fs::path> log = log_left_by(file);
  if (log && (log->extension() == ".db-journal" || opens(Access::read_only))) return {};
  return key_error(file, "does not open with this key, or its beginning is damaged.");
}

Result<void> give_key([[maybe_unused]] Handle& handle) {
  if (handle.key.empty()) return {};
#ifdef SQLITE_HAS_CODEC
  const int code = sqlite3_key(handle.db, handle.key.data(), static_cast<int>(handle.key.size()));
  if (code != SQLITE_OK) return sqlite_error(handle, code);
  // SQLCipher writes to standard error else. A size of pages is given before the first is read.
  const std::string settings =
      std::string("PRAGMA cipher_log_level=NONE;") +
      (handle.content == Content::cache ? std::string("PRAGMA ") + kCachePages : std::string());
  const int set = sqlite3_exec(handle.db, settings.c_str(), nullptr, nullptr, nullptr);
  if (set != SQLITE_OK) return sqlite_error(handle, set);
  return {};
#else
  return no_cipher(handle.path, "is encrypted");
#endif
}

Result<void> Connection::copy_under_key([[maybe_unused]] const fs::path& file,
                                        [[maybe_unused]] const std::string& key) {
#ifdef SQLITE_HAS_CODEC
  std::error_code ignored;
  fs::remove(file, ignored);
  SATCHEL_TRY(make_private_file(file));
  {
    SATCHEL_TRY_ASSIGN(Query attach, prepare("ATTACH DATABASE ?1 AS copy KEY ?2"));
    const std::string path = file.string();
    SATCHEL_TRY(attach.bind(1, std::string_view(path)).bind(2, std::string_view(key)).run());
  }
  Result<void> done = fill_copy(*this, *handle_, key);
  const Result<void> detached = exec("DETACH DATABASE copy");
  if (done.ok()) done = detached;
  if (done.ok()) done = check_copy(file, key, handle_->content);
  if (!done.ok()) fs::remove(file, ignored);
  return done;
#else
  return no_cipher(handle_->path, "was to be encrypted");
#endif
}

}  // namespace satchel::storage
