// Connection, Query, Transaction: an RAII wrapper of SQLite. Nothing outside this folder includes
// sqlite3.h.
//   errors  grouped by what the user can do about them, not by SQLite's codes (error.cpp):
//           DISK_FULL, READ_ONLY, LIBRARY_LOCKED, LIBRARY_DAMAGED or CACHE_DAMAGED, MEMORY,
//           STORAGE. SQL and bound values never appear in messages.
//   threads one call at a time per connection, its queries and transactions included
//   source  sqlite.org/security.html, pragma.html, wal.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

struct sqlite3_stmt;

namespace satchel::storage {

enum class Content { library, cache };  // precious or disposable: page size, codes, messages
enum class Access {
  read_write,  // creates the file if it is missing
  read_only,
  read_only_media,  // no locks and no write-ahead log, for folders that are not writable
};
enum class Sync {
  normal,  // survives a kill; a power cut may lose the last commits
  full,    // survives both
};

struct ConnectionOptions {
  std::filesystem::path path;  // empty: in memory, gone with the connection
  Access access = Access::read_write;
  Content content = Content::library;
  std::string vfs;       // SQLite's default if empty
  std::string key = {};  // of an encrypted file (cipher.h); empty: it is not
};

struct Handle;  // sqlite3* and the context of errors (handle.h)

// One statement. Bound values must outlive the last step.
class Query {
 public:
  Query& bind(int parameter, std::int64_t value);
  Query& bind(int parameter, std::string_view text);
  Query& bind(int parameter, std::span<const std::byte> blob);
  template <class T>
  Query& bind(int parameter, const std::optional<T>& value) {  // none: NULL
    return value ? bind(parameter, *value) : bind_null(parameter);
  }

  Result<bool> step();             // true: there is a row
  Result<void> run();              // runs to the end
  Result<std::int64_t> integer();  // first column of the first row, which must exist
  // What `read` makes of each row.
  template <class Read>
  auto all(const Read& read) -> Result<std::vector<decltype(read(*this))>> {
    std::vector<decltype(read(*this))> rows;
    for (;;) {
      SATCHEL_TRY_ASSIGN(const bool row, step());
      if (!row) return rows;
      rows.push_back(read(*this));
    }
  }

  // Columns of the row, from 0. A column of another type reads as 0 or empty: STRICT tables ensure
  // the types, and a damaged file must do no harm.
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
  Query& bind_null(int parameter);
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
  Result<void> commit();  // report "saved" only after this

 private:
  friend class Connection;
  explicit Transaction(Handle& handle) : handle_(&handle) {}
  Handle* handle_;
};

// Where one value of a table stands.
struct BlobPlace {
  const char *table, *column;
  std::int64_t row;
};

class Connection {
 public:
  // Opens the file and applies our settings; reads nothing yet.
  // A library's write-ahead log stays beside the file until allow_checkpoints(), so that a file
  // that turns out to be damaged is left as it was found.
  static Result<Connection> open(const ConnectionOptions& options);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  Result<void> exec(const char* sql);
  Result<Query> prepare(const char* sql);
  Result<std::int64_t> integer(const char* sql);
  // A value's bytes, which go to `into` without another copy; its memory is used again. Damaged: it
  // has more than bytes_max, and `into` is as it was.
  Result<void> read_blob(const BlobPlace& place, std::size_t bytes_max,
                         std::vector<std::byte>& into);
  Result<Transaction> begin(Sync sync);

  // How changes become whole: with a write-ahead log, whose index readers share in memory; with a
  // rollback journal where has_shared_memory() is false.
  Result<void> use_journal();
  // Whether processes can share memory beside the file. Those of two computers cannot, on a network
  // disk.
  bool has_shared_memory() const;
  // The file is sound: from now on its log goes into it, until damage is found or the disk fails.
  void allow_checkpoints();
  // Copies the log into the file as far as readers let it; its space is used again.
  Result<void> checkpoint();
  // Checkpoints and empties the write-ahead log; false: a reader or found_damage() prevented it.
  Result<bool> empty_wal();
  // A copy of all that is committed, in a new file that is this user's alone, under another key;
  // empty: not encrypted. Checked, and on disk when it returns; what fails leaves no file.
  //   needs   has_cipher(); no open transaction
  Result<void> copy_under_key(const std::filesystem::path& file, const std::string& key);
  // The same key, or none.
  const std::string& key() const;
  // Fails with LIBRARY_DAMAGED or CACHE_DAMAGED and the first finding.
  Result<void> quick_check();
  // Whether a read, write or sync has failed: the page cache may then differ from the disk.
  bool disk_failed() const;
  bool found_damage() const;

 private:
  explicit Connection(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

}  // namespace satchel::storage
