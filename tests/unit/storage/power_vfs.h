// PowerVfs: SQLite's file system over real files, which takes down what is written and what is
// synced. One run then gives the disk as a power cut at any of its moments might leave it.
//   model   what was synced is on the disk. Of what was written since, any sectors may be there,
//           whatever came first. Names made, renamed or deleted are there once their folder was
//           synced; before, the folder is as it was at some moment since: file systems that
//           journal names keep their order, and more is not modelled
//   sees    SQLite's calls, and by the fsync() of this program the syncs of everybody else
//   needs   files that nobody maps but for shared memory; one recording at a time
//   source  sqlite.org/vfs.html, sqlite.org/psow.html; docs/reliability.md, F3
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/rng.h"

namespace satchel::storage {

using FileId = std::uint64_t;
// What is in a folder and below it, by path within; a folder itself is kFolder.
using Names = std::map<std::string, FileId>;
inline constexpr FileId kFolder = 0;

struct DiskEvent {
  enum class Kind { write, truncate, sync, names, sync_folder };
  Kind kind;
  FileId file = 0;
  std::uint64_t at = 0;  // of a write; the length of a truncation
  std::string bytes = {};
  Names names = {};         // from now on
  std::string folder = {};  // that was synced
};

// What is left of what was not synced.
enum class Left { nothing, everything, some_writes, torn_sectors, in_order };
inline constexpr Left kAllLeft[] = {Left::nothing, Left::everything, Left::some_writes,
                                    Left::torn_sectors, Left::in_order};
std::string_view name_of(Left left);

class PowerVfs {
 public:
  explicit PowerVfs(std::string name);
  ~PowerVfs();
  PowerVfs(PowerVfs&&) = delete;

  const std::string& name() const { return name_; }
  // Takes down what happens below the folder from now on; all that is there is on the disk.
  void record(const std::filesystem::path& folder);
  void stop() { records_ = false; }
  std::size_t now();  // how many events there were
  const std::vector<DiskEvent>& events() const { return events_; }
  const Names& names_before() const { return names_before_; }
  const std::map<FileId, std::string>& files_before() const { return files_before_; }

  // For the methods of SQLite's table, and fsync().
  sqlite3_vfs* real() const { return real_; }
  void wrote(const std::string& path, const void* bytes, int n, std::int64_t at);
  void truncated(const std::string& path, std::int64_t length);
  void synced(const std::string& path);

 private:
  FileId file_at(const std::string& path);
  void note_names();

  std::string name_;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_{};
  bool records_ = false;
  std::filesystem::path folder_;
  std::vector<DiskEvent> events_;
  Names names_, names_before_;
  std::map<FileId, std::string> files_before_;
  std::map<std::uint64_t, FileId> ids_;  // by inode
  FileId next_id_ = 1;
};

// The disk as events pass, and as a cut leaves it.
class PowerDisk {
 public:
  explicit PowerDisk(const PowerVfs& vfs);
  void pass(const DiskEvent& event);
  // Writes what is left into an empty folder.
  void cut(Left how, Rng& rng, const std::filesystem::path& into) const;

 private:
  struct File {
    std::string on_disk;
    std::vector<const DiskEvent*> since = {};  // in order
  };
  static std::string left_of(const File& file, Left how, Rng& rng);

  Names names_on_disk_;
  std::vector<Names> names_since_;  // in order; the last is how it is
  std::map<FileId, File> files_;
};

}  // namespace satchel::storage
