// Private folders and files, and the lock file. SQLite manages its own files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::storage {

// Whether a write or an open failed for want of space: of the disk, of a quota, of a file's limit.
bool is_disk_full(int system_errno);

// Creates the file's folder with mode 0700, and missing parents. Unless the file is there already,
// the folder and those of this user above it are on disk when it returns, whoever made them.
// Refuses a folder of another user, who could replace our files.
//   limits  a folder that may be entered but not listed cannot be synced: the names in it are not
//   errors  READ_ONLY, DISK_FULL, STORAGE
Result<void> make_private_folder_of(const std::filesystem::path& file);

// Takes other users' rights from a folder of this user. What fails (a read-only disk) leaves it as
// it is: the files in it are private themselves.
void close_to_others(const std::filesystem::path& folder);

// Creates an empty file with mode 0600, or removes other users' rights from an existing one.
// SQLite's -wal and -shm files inherit the mode.
//   needs   no connection of this process to the file: closing a descriptor drops its locks
//   errors  READ_ONLY (also if it exists but is not writable), DISK_FULL, STORAGE
Result<void> make_private_file(const std::filesystem::path& file);

// Syncs the file and its directory entry to disk. Needs as above.
Result<void> sync_file(const std::filesystem::path& file);

// Gives the file a name in its folder that is free, and syncs that to disk. False: the name is
// taken, and both files stay as they are.
Result<bool> rename_to_free(const std::filesystem::path& file, const std::filesystem::path& name);

// Whether the file is missing or empty.
bool is_empty_or_missing(const std::filesystem::path& file);

// Nothing where the file is missing or can be read. One that cannot be looked at is not missing.
//   errors  STORAGE
Result<void> check_missing_or_readable(const std::filesystem::path& file);

// When it was written last, in milliseconds since 1970; none: it cannot be examined.
std::optional<std::int64_t> written_at(const std::filesystem::path& file);
// Deletes the databases of the folder whose names begin so, and that were last written before.
void delete_older(const std::filesystem::path& folder, std::string_view begins,
                  std::int64_t before_ms);

// Marks the folder so that backup programs skip it.
//   source  bford.info/cachedir
Result<void> tag_as_cache(const std::filesystem::path& folder);

// An exclusive lock on a folder. The lock file contains the holder's process id, and release()
// empties it. So an id without a holder means that the last process ended uncleanly.
class FolderLock {
 public:
  // errors  LIBRARY_LOCKED with the holder's id, READ_ONLY, DISK_FULL, STORAGE
  static Result<FolderLock> take(const std::filesystem::path& file);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();  // unlocks, but leaves the sign of an unclean end

  bool ended_unclean() const { return ended_unclean_; }
  void release();  // unlocks after a clean end

 private:
  FolderLock(int descriptor, bool ended_unclean)
      : descriptor_(descriptor), ended_unclean_(ended_unclean) {}
  int descriptor_;
  bool ended_unclean_;
};

}  // namespace satchel::storage
