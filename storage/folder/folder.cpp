#include "storage/folder/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;

// A descriptor that closes itself.
class File {
 public:
  File(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags, 0600)) {}
  File(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) (void)::close(descriptor_);
  }
  int get() const { return descriptor_; }
  int give() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

Error system_error(const fs::path& path, int number) {
  if (number == EROFS || number == EACCES || number == EPERM)
    return {ErrorKind::storage, "READ_ONLY",
            "\"" + path.string() +
                "\" is read-only: chats can be read but not saved. Make the folder "
                "writable or choose another."};
  if (is_disk_full(number))
    return {ErrorKind::storage, "DISK_FULL",
            "The disk is full: \"" + path.string() +
                "\" could not be created. Free some space and "
                "try again."};
  return {ErrorKind::storage, "STORAGE",
          "\"" + path.string() + "\" cannot be used: " + std::generic_category().message(number) +
              ". Choose another folder."};
}

// What is there already may be open to others. The system's error number; 0: done.
int take_rights_of_others(int descriptor) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return errno;
  const bool is_open = (found.st_mode & 0077) != 0;
  return is_open && ::fchmod(descriptor, 0600) != 0 ? errno : 0;
}

bool write_all(int descriptor, std::string_view text) {
  return ::ftruncate(descriptor, 0) == 0 &&
         ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         ::fsync(descriptor) == 0;
}

// The process id that the lock file holds; empty if none.
std::string holder_of(int descriptor) {
  std::array<char, 16> text{};
  const ssize_t n = ::pread(descriptor, text.data(), text.size(), 0);
  std::string digits;
  for (ssize_t i = 0; i < n && text[static_cast<std::size_t>(i)] >= '0' &&
                      text[static_cast<std::size_t>(i)] <= '9';
       ++i)
    digits += text[static_cast<std::size_t>(i)];
  return digits;
}

// The system's error number; 0: done. EEXIST: the name is taken.
int rename_new(const fs::path& path, const fs::path& name) {
  if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system that cannot: a second name, then the first goes.
  if (::link(path.c_str(), name.c_str()) != 0) return errno;
  return ::unlink(path.c_str()) == 0 ? 0 : errno;
}

Result<void> sync_folder(const fs::path& path) {
  const File folder(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  // One that may be entered but not listed can't be opened; some file systems sync no folders.
  if (folder.get() < 0) return errno == EACCES ? Result<void>() : system_error(path, errno);
  if (::fsync(folder.get()) != 0 && errno != EINVAL) return system_error(path, errno);
  return {};
}

// What is saved in a folder is lost with the folder's own name, or that of one above it. Folders of
// others are not ours to have made.
Result<void> sync_names_of(const fs::path& folder) {
  std::error_code unknown;
  struct stat found {};
  for (fs::path at = fs::absolute(folder, unknown);
       at.has_relative_path() && ::stat(at.c_str(), &found) == 0 && found.st_uid == ::geteuid();
       at = at.parent_path())
    if (at.has_filename()) SATCHEL_TRY(sync_folder(at.parent_path()));
  return {};
}

constexpr int kLockTriesMost = 10;

Result<void> lock_file(int descriptor, const fs::path& path) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return system_error(path, errno);
  const std::string holder = holder_of(descriptor);
  return Error{ErrorKind::storage, "LIBRARY_LOCKED",
               "Another Satchel" + (holder.empty() ? "" : " (process " + holder + ")") +
                   " has these chats open. Close it, or use another folder."};
}

bool is_still_at(int descriptor, const fs::path& path) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}
}  // namespace

bool is_disk_full(int system_errno) {
  return system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG;
}

Result<void> make_private_folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  std::error_code error;
  if (!fs::exists(folder, error)) {
    if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
    if (error) return system_error(folder, error.value());
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return system_error(folder, errno);
  }
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) return system_error(folder, errno);
  if (!S_ISDIR(found.st_mode)) return system_error(folder, ENOTDIR);
  if (found.st_uid != ::geteuid())
    return Error{ErrorKind::storage, "STORAGE",
                 "\"" + folder.string() + "\" belongs to another user (" +
                     std::to_string(found.st_uid) +
                     "), so Satchel saves no chats there. Choose a folder of your own."};
  // One that was found may be new all the same: whoever made it need not have got as far as this.
  return fs::exists(file, error) ? Result<void>() : sync_names_of(folder);
}

void close_to_others(const fs::path& folder) {
  std::error_code ignored;
  fs::permissions(folder, fs::perms::group_all | fs::perms::others_all, fs::perm_options::remove,
                  ignored);
}

Result<void> make_private_file(const fs::path& path) {
  const File file(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
  if (file.get() < 0) return system_error(path, errno);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error(path, errno);
  if (!S_ISREG(found.st_mode)) return system_error(path, EINVAL);
  if (const int failure = take_rights_of_others(file.get()); failure != 0)
    return system_error(path, failure);
  return {};
}

Result<void> sync_file(const fs::path& path) {
  const File file(path, O_RDONLY | O_CLOEXEC);
  if (file.get() < 0 || ::fsync(file.get()) != 0) return system_error(path, errno);
  return sync_folder(path.parent_path());
}

Result<bool> rename_to_free(const fs::path& path, const fs::path& name) {
  const int failure = rename_new(path, name);
  if (failure == EEXIST) return false;
  if (failure != 0) return system_error(name, failure);
  SATCHEL_TRY(sync_file(name));
  return true;
}

bool is_empty_or_missing(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error || size == 0;
}

Result<void> check_missing_or_readable(const fs::path& file) {
  struct stat found {};
  if (::lstat(file.c_str(), &found) != 0 && errno == ENOENT) return {};
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0) return {};
  return Error{
      ErrorKind::storage, "STORAGE",
      "\"" + file.string() + "\" cannot be read: " + std::generic_category().message(errno) + "."};
}

std::optional<std::int64_t> written_at(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return std::nullopt;
  return std::int64_t{found.st_mtim.tv_sec} * 1000 + found.st_mtim.tv_nsec / 1'000'000;
}

void delete_older(const fs::path& folder, std::string_view begins, std::int64_t before_ms) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::optional<std::int64_t> written_ms = written_at(it->path());
    if (name.starts_with(begins) && name.ends_with(".db") && written_ms && *written_ms < before_ms)
      old.push_back(it->path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

Result<void> tag_as_cache(const fs::path& folder) {
  constexpr std::string_view kTag =
      "Signature: 8a477f597d28d172789f06886806bc55\n"
      "# Satchel keeps here what it can make again. See https://bford.info/cachedir/\n";
  const fs::path path = folder / "CACHEDIR.TAG";
  const File file(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
  if (file.get() < 0) return system_error(path, errno);
  (void)take_rights_of_others(file.get());
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return system_error(path, errno);
  if (found.st_size > 0) return {};
  if (!write_all(file.get(), kTag)) return system_error(path, errno);
  return {};
}

Result<FolderLock> FolderLock::take(const fs::path& path) {
  // A file that was moved or deleted since it was opened excludes nobody.
  for (int tries = 0; tries < kLockTriesMost; ++tries) {
    File file(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
    if (file.get() < 0) return system_error(path, errno);
    (void)take_rights_of_others(file.get());
    SATCHEL_TRY(lock_file(file.get(), path));
    if (!is_still_at(file.get(), path)) continue;
    const bool unclean = !holder_of(file.get()).empty();
    // An id that could not be written costs a check after a crash, not the lock.
    (void)write_all(file.get(), std::to_string(::getpid()) + "\n");
    return FolderLock(file.give(), unclean);
  }
  return Error{ErrorKind::storage, "STORAGE",
               "\"" + path.string() + "\" is replaced again and again. Stop what does that."};
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), ended_unclean_(other.ended_unclean_) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) (void)::close(descriptor_);
}

void FolderLock::release() {
  if (descriptor_ < 0) return;
  (void)::ftruncate(descriptor_, 0);
  (void)::close(std::exchange(descriptor_, -1));
}

}  // namespace satchel::storage
