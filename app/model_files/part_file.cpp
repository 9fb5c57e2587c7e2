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

constexpr int kTriesMost = 3;  // while other downloads of the name end; chosen

Error not_written(const fs::path& path) {
  if (errno == ENOSPC || errno == EDQUOT)
    return {ErrorKind::storage, "DISK_FULL",
            "The disk is full. What came of \"" + path.filename().string() +
                "\" is kept; free some space and start the download again."};
  return {ErrorKind::storage, "STORAGE", "\"" + path.string() + "\" cannot be written."};
}

Error is_taken(const fs::path& path) {
  return {ErrorKind::invalid, "PARAM",
          "\"" + path.filename().string() + "\" is being downloaded already."};
}
Error is_there(const fs::path& path) {
  return {ErrorKind::invalid, "PARAM",
          "\"" + path.string() + "\" is there already. Nothing was changed."};
}

}  // namespace

// Whoever had the part may have finished between our opening and our lock: then what is locked is
// the model, which must not be written, and the part is nobody's or another file.
Result<PartFile> PartFile::open(const fs::path& path) {
  for (int tries = 0; tries < kTriesMost; ++tries) {
    SATCHEL_TRY_ASSIGN(PartFile opened, lock(path));
    struct stat mine {};
    struct stat named {};
    if (::fstat(opened.file_, &mine) != 0) return not_written(opened.part_);
    const bool is_named = ::lstat(opened.part_.c_str(), &named) == 0 &&
                          named.st_dev == mine.st_dev && named.st_ino == mine.st_ino;
    if (!is_named) continue;
    if (mine.st_nlink > 1) {
      if (::unlink(opened.part_.c_str()) != 0) return not_written(opened.part_);
      continue;
    }
    std::error_code unknown;
    if (fs::exists(fs::symlink_status(path, unknown))) {
      if (mine.st_size == 0) opened.discard();
      return is_there(path);
    }
    opened.bytes_ = static_cast<std::uint64_t>(mine.st_size);
    return opened;
  }
  return is_taken(path);
}

Result<PartFile> PartFile::lock(const fs::path& path) {
  const fs::path part = path.string() + ".part";
  const int file = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return not_written(part);
  PartFile opened(path, part, file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return is_taken(path);
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

Result<void> PartFile::hash_what_is_there(const std::stop_token& stop) {
  std::array<char, 1u << 16> buffer;
  while (hashed_ < bytes_) {
    if (stop.stop_requested())
      return Error{ErrorKind::cancelled, "STOPPED", "The download was stopped."};
    const ssize_t n = ::pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(hashed_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return Error{ErrorKind::storage, "STORAGE", "\"" + part_.string() + "\" cannot be read."};
    hash_.add({buffer.data(), static_cast<std::size_t>(n)});
    hashed_ += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<std::string> PartFile::sha256(const std::stop_token& stop) {
  SATCHEL_TRY(hash_what_is_there(stop));
  return hash_.hex();
}

// link() takes no name that somebody else has taken meanwhile.
Result<void> PartFile::finish() {
  if (::fsync(file_) != 0) return not_written(part_);
  if (::link(part_.c_str(), path_.c_str()) != 0) {
    if (errno == EEXIST) return is_there(path_);
    // A disk without hard links.
    if (::rename(part_.c_str(), path_.c_str()) != 0) return not_written(path_);
  }
  discard();
  return {};
}

void PartFile::discard() {
  std::error_code ignored;
  fs::remove(origin(), ignored);
  fs::remove(part_, ignored);  // last: from then on another download may begin
}

}  // namespace satchel::app
