#include "app/model_files/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

Error not_written(const fs::path& path) {
  if (errno == ENOSPC || errno == EDQUOT)
    return {ErrorKind::storage, "DISK_FULL",
            "The disk is full. What came of \"" + path.filename().string() +
                "\" is kept; free some space and start the download again."};
  return {ErrorKind::storage, "STORAGE", "\"" + path.string() + "\" cannot be written."};
}

}  // namespace

Result<PartFile> PartFile::open(const fs::path& path) {
  const fs::path part = path.string() + ".part";
  const int file = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return not_written(part);
  PartFile opened(path, part, file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return Error{ErrorKind::invalid, "PARAM",
                 "\"" + path.filename().string() + "\" is being downloaded already."};
  struct stat now {};
  if (::fstat(file, &now) != 0) return not_written(part);
  opened.bytes_ = static_cast<std::uint64_t>(now.st_size);
  return opened;
}

PartFile::PartFile(PartFile&& other) noexcept
    : path_(std::move(other.path_)),
      part_(std::move(other.part_)),
      file_(std::exchange(other.file_, -1)),
      bytes_(other.bytes_),
      hashed_(other.hashed_),
      hash_(std::move(other.hash_)) {}

PartFile::~PartFile() {
  if (file_ >= 0) ::close(file_);
}

std::string PartFile::version_of(const std::string& url) const {
  std::ifstream in(origin());
  std::string from, version;
  std::getline(in, from);
  std::getline(in, version);
  return in && from == url ? version : "";
}

Result<void> PartFile::set_origin(const std::string& url, const std::string& version) {
  std::ofstream out(origin(), std::ios::trunc);
  out << url << '\n' << version << '\n';
  out.flush();
  return out ? Result<void>() : not_written(origin());
}

Result<void> PartFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(bytes_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return not_written(part_);
    const auto written = static_cast<std::size_t>(n);
    if (hashed_ == bytes_) {  // else it is read again when it is asked for
      hash_.add(bytes.substr(0, written));
      hashed_ += written;
    }
    bytes_ += written;
    bytes.remove_prefix(written);
  }
  return {};
}

Result<void> PartFile::empty() {
  if (::ftruncate(file_, 0) != 0) return not_written(part_);
  bytes_ = hashed_ = 0;
  hash_ = Sha256();
  return {};
}

std::optional<std::uint64_t> PartFile::disk_bytes_free() const {
  struct statvfs disk {};
  if (::fstatvfs(file_, &disk) != 0) return std::nullopt;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

Result<void> PartFile::hash_what_is_there() {
  std::array<char, 1u << 16> buffer;
  while (hashed_ < bytes_) {
    const ssize_t n = ::pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(hashed_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return Error{ErrorKind::storage, "STORAGE", "\"" + part_.string() + "\" cannot be read."};
    hash_.add({buffer.data(), static_cast<std::size_t>(n)});
    hashed_ += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<std::string> PartFile::sha256() {
  SATCHEL_TRY(hash_what_is_there());
  return hash_.hex();
}

// link() takes no name that somebody else has taken meanwhile.
Result<void> PartFile::finish() {
  if (::fsync(file_) != 0) return not_written(part_);
  if (::link(part_.c_str(), path_.c_str()) != 0) {
    const bool is_taken = errno == EEXIST;
    if (is_taken)
      return Error{ErrorKind::invalid, "PARAM",
                   "\"" + path_.string() + "\" is there already. Nothing was changed."};
    // A disk without hard links.
    if (::rename(part_.c_str(), path_.c_str()) != 0) return not_written(path_);
  }
  discard();
  return {};
}

void PartFile::discard() {
  std::error_code ignored;
  fs::remove(part_, ignored);
  fs::remove(origin(), ignored);
}

}  // namespace satchel::app
