// Folder: the files beside SQLite's: private folders and files, and the lock.
#pragma once

#include <filesystem>
#include <string>

#include "kernels/base/result.h"

namespace satchel::storage {

// Makes the folder, 0700, and what is missing above it. A folder of another user is refused: he
// could put his own files where ours are looked for.
//   errors  READ_ONLY, DISK_FULL, STORAGE
Result<void> make_private_folder(const std::filesystem::path& folder);

// Makes an empty file, 0600, or takes the rights of others from one that exists. SQLite's side
// files take the mode of theirs.
//   needs   no connection of this process on that file: closing a descriptor drops its locks
//   errors  READ_ONLY (also where it exists and cannot be written), DISK_FULL, STORAGE
Result<void> make_private_file(const std::filesystem::path& file);

// Forces file and name to the disk. needs as above.
Result<void> sync_file(const std::filesystem::path& file);

// Whether there is no byte of it: no file, or an empty one.
bool is_empty_or_missing(const std::filesystem::path& file);

// Tells backup programs to skip the folder.
//   source  bford.info/cachedir
Result<void> tag_as_cache(const std::filesystem::path& folder);

// The right to write into a folder, held by one process. The lock file holds the holder's id, and
// is emptied by release(): an id that nobody holds tells of an unclean end.
class FolderLock {
 public:
  // errors  LIBRARY_LOCKED with the holder's id, READ_ONLY, DISK_FULL, STORAGE
  static Result<FolderLock> take(const std::filesystem::path& file);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();  // lets go, without saying that all is well

  bool ended_unclean() const { return ended_unclean_; }
  void release();  // all is well

 private:
  FolderLock(int descriptor, bool ended_unclean)
      : descriptor_(descriptor), ended_unclean_(ended_unclean) {}
  int descriptor_;
  bool ended_unclean_;
};

}  // namespace satchel::storage
