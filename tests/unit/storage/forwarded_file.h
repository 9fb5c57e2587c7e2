// ForwardedFile: a file of a test's VFS. What SQLite asks of it goes on to the real file, which
// lies behind it in the same memory; a VFS puts methods of its own in the table's places.
//   source  sqlite.org/vfs.html
#pragma once

#include <sqlite3.h>

namespace satchel::storage {

struct ForwardedFile {
  sqlite3_file base;  // first, as SQLite sees it
  void* owner;        // the test's VFS
  const char* path;   // SQLite's own, valid while the file is open; null: a temporary file
  sqlite3_file* real;

  static ForwardedFile& of(sqlite3_file* file) { return *reinterpret_cast<ForwardedFile*>(file); }
  static int bytes(const sqlite3_vfs& below) {
    return static_cast<int>(sizeof(ForwardedFile)) + below.szOsFile;
  }
};

inline sqlite3_file* real(sqlite3_file* file) {
  return ForwardedFile::of(file).real;
}

// Opens the real file in memory of ForwardedFile::bytes().
inline int open_forwarded(sqlite3_vfs* below, void* owner, const sqlite3_io_methods& methods,
                          sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
  ForwardedFile& ours = ForwardedFile::of(file);
  ours = {.base = {nullptr},  // else SQLite closes what was not opened
          .owner = owner,
          .path = name,
          .real = reinterpret_cast<sqlite3_file*>(&ours + 1)};
  const int opened = below->xOpen(below, name, ours.real, flags, out);
  if (opened == SQLITE_OK) ours.base.pMethods = &methods;
  return opened;
}

inline sqlite3_io_methods forwarding_methods() {
  using File = sqlite3_file*;
  using Long = sqlite3_int64;
  sqlite3_io_methods all{};
  all.iVersion = 2;
  all.xClose = [](File f) { return real(f)->pMethods->xClose(real(f)); };
  all.xRead = [](File f, void* to, int n, Long at) {
    return real(f)->pMethods->xRead(real(f), to, n, at);
  };
  all.xWrite = [](File f, const void* from, int n, Long at) {
    return real(f)->pMethods->xWrite(real(f), from, n, at);
  };
  all.xTruncate = [](File f, Long size) { return real(f)->pMethods->xTruncate(real(f), size); };
  all.xSync = [](File f, int flags) { return real(f)->pMethods->xSync(real(f), flags); };
  all.xFileSize = [](File f, Long* out) { return real(f)->pMethods->xFileSize(real(f), out); };
  all.xLock = [](File f, int level) { return real(f)->pMethods->xLock(real(f), level); };
  all.xUnlock = [](File f, int level) { return real(f)->pMethods->xUnlock(real(f), level); };
  all.xCheckReservedLock = [](File f, int* out) {
    return real(f)->pMethods->xCheckReservedLock(real(f), out);
  };
  all.xFileControl = [](File f, int what, void* with) {
    return real(f)->pMethods->xFileControl(real(f), what, with);
  };
  all.xSectorSize = [](File f) { return real(f)->pMethods->xSectorSize(real(f)); };
  all.xDeviceCharacteristics = [](File f) {
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
  };
  all.xShmMap = [](File f, int page, int n, int extend, void volatile** out) {
    return real(f)->pMethods->xShmMap(real(f), page, n, extend, out);
  };
  all.xShmLock = [](File f, int at, int n, int flags) {
    return real(f)->pMethods->xShmLock(real(f), at, n, flags);
  };
  all.xShmBarrier = [](File f) { real(f)->pMethods->xShmBarrier(real(f)); };
  all.xShmUnmap = [](File f, int erase) { return real(f)->pMethods->xShmUnmap(real(f), erase); };
  return all;
}

}  // namespace satchel::storage
