// Handle: the sqlite3 object, and the only place that converts its codes to Errors.
#pragma once

#include <sqlite3.h>

#include <optional>
#include <string>

#include "storage/sqlite/connection.h"

namespace satchel::storage {

struct Handle {
  sqlite3* db = nullptr;
  std::string path;
  Content content = Content::library;
  // Unknown: a library of SQLite may have been built with another default than its usual.
  std::optional<bool> full_sync = std::nullopt;
  bool has_shared_memory = true;  // else a write-ahead log is no use (Connection::use_journal)
  std::string key = {};           // empty: not encrypted
  bool disk_failed = false;
  bool found_damage = false;

  Handle() = default;
  Handle(Handle&&) = delete;
  ~Handle() { sqlite3_close_v2(db); }
};

// The Error for a code other than OK, ROW and DONE that a call on `handle` just returned.
Error sqlite_error(Handle& handle, int code);
Error damaged_error(Handle& handle, std::string_view finding);
// Right after the file was opened, before anything is read of it; handle.key fits or not.
Result<void> give_key(Handle& handle);
// Whether the log goes into the file: when it is long, when the connection closes.
void set_checkpoints(Handle& handle, bool allowed);

}  // namespace satchel::storage
