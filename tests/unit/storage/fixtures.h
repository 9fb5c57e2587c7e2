// What the tests of storage share: a folder that goes away, a clock that stands, a log that keeps.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/clock.h"
#include "kernels/base/log_sink.h"
#include "runtime/contract/cache_key.h"
#include "storage/store.h"
#include "support/temp_folder.h"

namespace satchel::storage {

using test::Place;
using test::TempFolder;

class StandingClock final : public Clock {
 public:
  std::int64_t wall_ms() const override { return wall; }
  double steady_ms() const override { return steady; }
  std::int64_t wall = 1'700'000'000'000;
  double steady = 0;
};

class KeptLog {
 public:
  LogSink sink() {
    return [this](LogLevel, std::string_view component, std::string_view record) {
      lines.push_back(std::string(component) + " " + std::string(record));
    };
  }
  bool mentions(std::string_view word) const;
  std::vector<std::string> lines;
};

// The value, or a failed test with the error's message.
template <class T>
T must(Result<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!result.ok())
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " +
                             result.error().code + ": " + result.error().message);
  return std::move(result).value();
}
inline void must(Result<void> result, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  if (!result.ok())
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " +
                             result.error().code + ": " + result.error().message);
}
template <class T>
std::string code_of(const Result<T>& result) {
  return result.ok() ? std::string("OK") : result.error().code;
}

std::unique_ptr<Store> open_store(const TempFolder& folder, StoreOptions options = {});
Result<std::unique_ptr<Store>> try_store(const TempFolder& folder, StoreOptions options = {});

inline kvcache::CacheKey key_of(ChatId chat) {
  return runtime::cache_key(chat);
}
// Of the saved records: of all caches, or of one.
std::uint64_t record_bytes(KvStore& kv);
std::uint64_t record_bytes(KvStore& kv, const kvcache::CacheKey& key);
NewChat named(std::string name);
MessageId say(Library& library, ChatId chat, std::string_view text,
              const std::vector<std::int32_t>& tokens = {1, 2, 3});
MessageId begin_answer(Library& library, ChatId chat);
std::vector<std::string> texts(Library& library, ChatId chat);
// What SQLite itself says of a file that nobody has open: "ok", or the first finding.
std::string integrity(const std::filesystem::path& file);
// As another program would, that has the file open alone.
void run_sql(const std::filesystem::path& file, const char* sql);
std::vector<std::byte> bytes_of(std::size_t n, unsigned seed);
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace satchel::storage
