#include "storage/far/far_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "storage/folder/folder.h"

namespace satchel::storage {
namespace {

// Not every file system makes files without names; there one loses its name at once.
int open_nameless(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return descriptor;
  std::string name = (folder / "satchel-far-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0 || ::unlink(name.c_str()) == 0) return named;
  const int why = errno;
  (void)::close(named);
  errno = why;
  return -1;
}

Error open_error(const std::filesystem::path& folder, int number) {
  if (number == EROFS || number == EACCES || number == EPERM)
    return {
        ErrorKind::storage, "READ_ONLY",
        "\"" + folder.string() +
            "\" is read-only, so a chat's memory cannot be kept there. Make the folder writable, "
            "choose another, or do without the disk."};
  if (is_disk_full(number))
    return {ErrorKind::storage, "DISK_FULL",
            "The disk is full: no file for a chat's memory could be made in \"" + folder.string() +
                "\". Free some space and try again."};
  return {ErrorKind::storage, "STORAGE",
          "No file for a chat's memory could be made in \"" + folder.string() +
              "\": " + std::generic_category().message(number) + ". Choose another folder."};
}

}  // namespace

Result<std::unique_ptr<FarFile>> FarFile::open(const std::filesystem::path& folder) {
  const int descriptor = open_nameless(folder);
  if (descriptor < 0) return open_error(folder, errno);
  return std::unique_ptr<FarFile>(new FarFile(descriptor, folder));
}

FarFile::~FarFile() {
  (void)::close(descriptor_);
}

Result<void> FarFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && is_disk_full(errno))
      return Error{ErrorKind::storage, "DISK_FULL",
                   "The disk is full: part of the chat's memory could not be moved to \"" +
                       folder_.string() + "\". Nothing was lost. Free some space and try again."};
    if (n <= 0)
      return Error{ErrorKind::storage, "STORAGE",
                   "Part of the chat's memory could not be moved to \"" + folder_.string() +
                       "\": " + std::generic_category().message(n < 0 ? errno : EIO) +
                       ". Nothing was lost. Try again, or use another disk."};
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> FarFile::read(std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return Error{ErrorKind::storage, "FAR_READ",
                   "Part of the chat's memory could not be read from its file in \"" +
                       folder_.string() + "\": " +
                       (n < 0 ? std::generic_category().message(errno)
                              : std::string("the file is shorter than what was written")) +
                       ". What was said is saved. Try again; if it happens again, open the chat "
                       "again, and check the disk."};
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

}  // namespace satchel::storage
