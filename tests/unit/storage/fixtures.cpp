#include "fixtures.h"

#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "kernels/base/rng.h"

namespace satchel::storage {
namespace fs = std::filesystem;

bool KeptLog::mentions(std::string_view word) const {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(word) != std::string::npos; });
}

Result<std::unique_ptr<Store>> try_store(const TempFolder& folder, StoreOptions options) {
  options.data_dir = folder / "data";
  options.cache_dir = folder / "cache";
  return Store::open(std::move(options));
}
std::unique_ptr<Store> open_store(const TempFolder& folder, StoreOptions options) {
  return must(try_store(folder, std::move(options)));
}

std::uint64_t record_bytes(KvStore& kv) {
  std::uint64_t bytes = 0;
  for (const SavedCache& cache : must(kv.list())) bytes += cache.record_bytes;
  return bytes;
}

std::uint64_t record_bytes(KvStore& kv, const kvcache::CacheKey& key) {
  for (const SavedCache& cache : must(kv.list()))
    if (cache.key.name == key.name) return cache.record_bytes;
  return 0;
}

NewChat named(std::string name) {
  NewChat chat;
  chat.name = std::move(name);
  chat.title = "A title";
  chat.setup = {"fingerprint", "/models/m.gguf", R"({"recipe":1})", 5u << 20, "Be brief."};
  return chat;
}

MessageId say(Library& library, ChatId chat, std::string_view text,
              const std::vector<std::int32_t>& tokens) {
  return must(
      library.append(chat, {runtime::Role::user, runtime::MessageState::complete, text, tokens}));
}

MessageId begin_answer(Library& library, ChatId chat) {
  return must(
      library.append(chat, {runtime::Role::assistant, runtime::MessageState::streaming, "", {}}));
}

std::vector<std::string> texts(Library& library, ChatId chat) {
  std::vector<std::string> found;
  for (const auto& message : must(library.messages(chat))) found.push_back(message.text);
  return found;
}

std::string integrity(const fs::path& file) {
  sqlite3* db = nullptr;
  std::string finding = "no rows";
  const auto keep = [](void* to, int n, char** values, char**) {
    *static_cast<std::string*>(to) = n > 0 && values[0] != nullptr ? values[0] : "null";
    return 0;
  };
  if (sqlite3_open(file.c_str(), &db) != SQLITE_OK) finding = "not opened";
  const bool ran =
      sqlite3_exec(db, "PRAGMA integrity_check(1)", keep, &finding, nullptr) == SQLITE_OK;
  if (!ran) finding = "integrity_check failed";
  std::string orphan;
  (void)sqlite3_exec(db, "PRAGMA foreign_key_check", keep, &orphan, nullptr);
  sqlite3_close(db);
  return orphan.empty() ? finding : "orphans in " + orphan;
}

void run_sql(const std::filesystem::path& file, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

std::vector<std::byte> bytes_of(std::size_t n, unsigned seed) {
  Rng rng(seed);
  std::vector<std::byte> bytes(n);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
  return bytes;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace satchel::storage
