// Connection, Query, Transaction: SQLite as values and owners. Nothing above this folder sees
// sqlite3.h.
//   errors  by what a person can do about them, not by SQLite's numbers (error.cpp): DISK_FULL,
//           READ_ONLY, LIBRARY_LOCKED, LIBRARY_DAMAGED or CACHE_DAMAGED, MEMORY, STORAGE. SQL and
//           bound values never get into a message
//   threads one call at a time per connection, its queries and transactions included
//   source  sqlite.org/security.html, pragma.html, wal.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

struct sqlite3_stmt;

namespace satchel::storage {

enum class Content { library, cache };  // precious or disposable: page size, codes, messages
enum class Access {
  read_write,  // makes the file if it is missing
  read_only,
  read_only_media,  // no locks, no write-ahead log: where nothing can be written beside the file
};
enum class Sync {
  normal,  // survives a kill; a power cut may take the last commits
  full,    // survives both
};

struct ConnectionOptions {
  std::filesystem::path path;
  Access access = Access::read_write;
  Content content = Content::library;
  std::string vfs;  // SQLite's default if empty
};

struct Handle;  // sqlite3* and what errors need to know (handle.h)

// One statement. What is bound must outlive the last step.
class Query {
 public:
  Query& bind(int parameter, std::int64_t value);
  Query& bind(int parameter, std::string_view text);
  Query& bind(int parameter, std::span<const std::byte> blob);
  Query& bind_null(int parameter);

  Result<bool> step();             // true: a row lies here
  Result<void> run();              // to the end
  Result<std::int64_t> integer();  // of the first row's first column, which must exist; to the end

  // Columns of the row, from 0. A column of another type reads as 0 or empty: STRICT tables hold
  // the types, and a damaged file must not harm.
  std::int64_t integer_at(int column) const;
  std::string text_at(int column) const;
  std::vector<std::byte> blob_at(int column) const;
  bool null_at(int column) const;

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Query(Handle& handle, sqlite3_stmt* statement) : handle_(&handle), statement_(statement) {}
  Handle* handle_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_code_ = 0;
};

// Rolls back unless committed.
class Transaction {
 public:
  Transaction(Transaction&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();  // only now may anyone say "saved"

 private:
  friend class Connection;
  explicit Transaction(Handle& handle) : handle_(&handle) {}
  Handle* handle_;
};

class Connection {
 public:
  // Opens and sets what every connection of ours has; reads nothing of the file yet.
  static Result<Connection> open(const ConnectionOptions& options);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  Result<void> exec(const char* sql);
  Result<Query> prepare(const char* sql);
  Result<std::int64_t> integer(const char* sql);
  Result<Transaction> begin(Sync sync);

  Result<void> use_wal();
  // Brings the write-ahead log into the file and empties it; false: a reader was in the way.
  Result<bool> empty_wal();
  // LIBRARY_DAMAGED or CACHE_DAMAGED with the first finding.
  Result<void> quick_check();
  // A read, write or sync failed: what lies in the page cache may not be what lies on the disk.
  bool disk_failed() const;

 private:
  explicit Connection(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

}  // namespace satchel::storage
