#include "storage/sqlite/handle.h"

namespace satchel::storage {
namespace {
// The first failure of several binds is the one that step() tells.
void keep_first(int& kept, int code) {
  if (kept == SQLITE_OK) kept = code;
}
}  // namespace

void Query::Finalize::operator()(sqlite3_stmt* statement) const {
  (void)sqlite3_finalize(statement);  // repeats the error of the last step, which was told
}

Query& Query::bind(int parameter, std::int64_t value) {
  keep_first(bind_code_, sqlite3_bind_int64(statement_.get(), parameter, value));
  return *this;
}

Query& Query::bind(int parameter, std::string_view text) {
  // A null pointer would bind NULL.
  const char* begin = text.empty() ? "" : text.data();
  keep_first(bind_code_, sqlite3_bind_text64(statement_.get(), parameter, begin, text.size(),
                                             SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Query& Query::bind(int parameter, std::span<const std::byte> blob) {
  const void* begin = blob.empty() ? static_cast<const void*>("") : blob.data();
  keep_first(bind_code_,
             sqlite3_bind_blob64(statement_.get(), parameter, begin, blob.size(), SQLITE_STATIC));
  return *this;
}

Query& Query::bind_null(int parameter) {
  keep_first(bind_code_, sqlite3_bind_null(statement_.get(), parameter));
  return *this;
}

Result<bool> Query::step() {
  if (bind_code_ != SQLITE_OK) return sqlite_error(*handle_, bind_code_);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(*handle_, code);
}

Result<void> Query::run() {
  for (;;) {
    SATCHEL_TRY_ASSIGN(const bool row, step());
    if (!row) return {};
  }
}

Result<std::int64_t> Query::integer() {
  SATCHEL_TRY_ASSIGN(const bool row, step());
  if (!row) return damaged_error(*handle_, "a required row is missing");
  const std::int64_t value = integer_at(0);
  SATCHEL_TRY(run());
  return value;
}

std::int64_t Query::integer_at(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Query::text_at(int column) const {
  // As a blob: its bytes are the UTF-8 text, and no copy for a final zero is made.
  const void* begin = sqlite3_column_blob(statement_.get(), column);
  const int n = sqlite3_column_bytes(statement_.get(), column);
  if (begin == nullptr || n <= 0) return {};
  return {static_cast<const char*>(begin), static_cast<std::size_t>(n)};
}

std::vector<std::byte> Query::blob_at(int column) const {
  const auto* begin = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const int n = sqlite3_column_bytes(statement_.get(), column);
  if (begin == nullptr || n <= 0) return {};
  return {begin, begin + n};
}

bool Query::null_at(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

}  // namespace satchel::storage
