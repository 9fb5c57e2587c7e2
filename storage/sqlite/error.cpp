#include <cerrno>

#include "storage/folder/backups.h"
#include "storage/folder/folder.h"
#include "storage/sqlite/handle.h"

namespace satchel::storage {
namespace {

struct Words {
  const char* file;  // how a person calls it
  const char* kept;
  const char* damaged_code;
  const char* damaged_advice;
};
const Words& words_of(Content content) {
  static constexpr Words kLibrary = {"library", "Everything saved before is kept.",
                                     "LIBRARY_DAMAGED", "Nothing was changed. "};
  static constexpr Words kCache = {
      "saved cache", "No message is affected.", "CACHE_DAMAGED",
      "No message is affected; the chat is processed again when opened."};
  return content == Content::library ? kLibrary : kCache;
}

Error disk_full(const Handle& handle) {
  return {ErrorKind::storage, "DISK_FULL",
          "The disk is full: \"" + handle.path + "\" was not saved. " +
              words_of(handle.content).kept + " Free some space and try again."};
}

Error read_only(const Handle& handle) {
  return {ErrorKind::storage, "READ_ONLY",
          "\"" + handle.path + "\" is read-only: chats can be read but not saved. " +
              words_of(handle.content).kept + " Make the folder writable or choose another."};
}

// The log may be the only sound copy of the newest pages: it must not go into a damaged file, nor
// onto a disk that has just failed.
void keep_log(Handle& handle) {
  if (handle.content == Content::library) set_checkpoints(handle, false);
}

bool is_forbidden(int system_errno) {
  return system_errno == EROFS || system_errno == EACCES;
}
}  // namespace

void set_checkpoints(Handle& handle, bool allowed) {
  constexpr int kLogPages = 1000;  // SQLite's default
  if (handle.db == nullptr) return;
  sqlite3_db_config(handle.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, allowed ? 0 : 1, nullptr);
  sqlite3_wal_autocheckpoint(handle.db, allowed ? kLogPages : 0);
}

Error damaged_error(Handle& handle, std::string_view finding) {
  handle.found_damage = true;
  keep_log(handle);
  const Words& words = words_of(handle.content);
  return {ErrorKind::corrupt, words.damaged_code,
          "The " + std::string(words.file) + " \"" + handle.path + "\" is damaged (" +
              std::string(finding) + "). " + words.damaged_advice +
              (handle.content == Content::library ? advice_for_damaged_library(handle.path)
                                                  : std::string())};
}

Error sqlite_error(Handle& handle, int code) {
  const Words& words = words_of(handle.content);
  // The system's own number is telling only where the system refused.
  const int system = handle.db == nullptr ? 0 : sqlite3_system_errno(handle.db);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return disk_full(handle);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return read_only(handle);
    case SQLITE_NOMEM:
      return {
          ErrorKind::out_of_memory, "MEMORY",
          "There was not enough memory to open or change \"" + handle.path + "\". " + words.kept};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::storage, "LIBRARY_LOCKED",
              "Another program is using \"" + handle.path + "\". " + words.kept +
                  " Close that program and try again."};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged_error(handle, sqlite3_errstr(code));
    // Our statements are constant: on a sound file all of them fit the schema, break no rule and
    // find no row beyond the limits that are checked before.
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
      return damaged_error(handle, handle.db == nullptr ? "" : sqlite3_errmsg(handle.db));
    case SQLITE_IOERR:
      handle.disk_failed = true;
      keep_log(handle);
      if (is_disk_full(system)) return disk_full(handle);
      if (is_forbidden(system)) return read_only(handle);
      break;
    case SQLITE_CANTOPEN:
      if (is_disk_full(system)) return disk_full(handle);
      if (is_forbidden(system)) return read_only(handle);
      break;
    default:
      break;
  }
  const char* text = handle.db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle.db);
  return {ErrorKind::storage, "STORAGE",
          "The " + std::string(words.file) + " \"" + handle.path + "\" could not be used: " + text +
              " (SQLite " + std::to_string(code) + "). " + words.kept +
              " Check the disk and try again."};
}

}  // namespace satchel::storage
