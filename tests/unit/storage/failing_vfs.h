// FailingVfs: SQLite's file system, of which the n-th call fails. Registered as long as it lives;
// needs to outlive every connection that names it.
//   source  sqlite.org/vfs.html; docs/reliability.md, F1
#pragma once

#include <sqlite3.h>

#include <string>

namespace satchel::storage {

class FailingVfs {
 public:
  enum class How { io_error, full, killed };  // killed: the process ends there
  enum class Then { once, thrice, always };   // thrice: the next two, too

  static constexpr int kKilled = 77;  // the exit code then

  enum class Memory { shared, none };         // none: as on a network disk

  explicit FailingVfs(std::string name, Memory memory = Memory::shared);
  ~FailingVfs();
  FailingVfs(FailingVfs&&) = delete;

  const std::string& name() const { return name_; }
  // Opens, writes, truncates, syncs, deletes and shared memory count, from 0.
  void fail_at(int call, How how, Then then);
  void stop_failing() { fail_at_ = -1; }
  bool has_failed() const { return has_failed_; }
  int n_opened() const { return n_opened_; }  // files, in all

  // For the methods of SQLite's table.
  bool fails_now();
  void count_opened() { ++n_opened_; }
  int code(int io_error) const { return how_ == How::full ? SQLITE_FULL : io_error; }
  sqlite3_vfs* real() const { return real_; }
  Memory memory() const { return memory_; }

 private:
  std::string name_;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_{};
  Memory memory_;
  int calls_ = 0, fail_at_ = -1, n_opened_ = 0;
  How how_ = How::io_error;
  Then then_ = Then::once;
  bool has_failed_ = false;
};

}  // namespace satchel::storage
