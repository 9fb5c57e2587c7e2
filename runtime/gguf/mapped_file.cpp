#include "runtime/gguf/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "runtime/gguf/mapping_guard.h"
#include "runtime/gguf/value.h"

namespace satchel::runtime {
namespace {

Error read_error(const std::string& name, const std::string& reason) {
  return {ErrorKind::storage, "MODEL_READ", quoted(name, 128) + " cannot be read: " + reason + "."};
}
std::string reason_of(int error) {
  return std::generic_category().message(error);
}

}  // namespace

Result<MappedFile::Stamp> MappedFile::stamp_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0)
    return Error{ErrorKind::storage, "MODEL_READ",
                 "The file's size cannot be read: " + reason_of(errno) + "."};
  return Stamp{.size = static_cast<std::uint64_t>(status.st_size),
               .written_s = status.st_mtim.tv_sec,
               .written_ns = status.st_mtim.tv_nsec,
               .changed_s = status.st_ctim.tv_sec,
               .changed_ns = status.st_ctim.tv_nsec,
               .n_names = static_cast<std::uint64_t>(status.st_nlink)};
}

bool MappedFile::Stamp::is_written(const Stamp& now) const {
  if (size != now.size || written_s != now.written_s || written_ns != now.written_ns) return true;
  return (changed_s != now.changed_s || changed_ns != now.changed_ns) && now.n_names == n_names;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  MappedFile file;
  file.name_ = name;
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return Error{ErrorKind::not_found, "MODEL_NOT_FOUND",
                   "There is no file " + quoted(path.string(), 512) + "."};
    return read_error(name, reason_of(errno));
  }
  struct stat status {};
  if (fstat(file.descriptor_, &status) != 0) return read_error(name, reason_of(errno));
  if (S_ISDIR(status.st_mode)) return read_error(name, "it is a folder; choose a GGUF file in it");
  if (!S_ISREG(status.st_mode)) return read_error(name, "it is a device or pipe, not a file");
  SATCHEL_TRY_ASSIGN(file.stamp_, stamp_of(file.descriptor_));
  if (file.stamp_.size > std::numeric_limits<std::size_t>::max() / 2)
    return read_error(name, "it is too large for this machine");
  const auto size = static_cast<std::size_t>(file.stamp_.size);
  if (size == 0) return file;
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (memory == MAP_FAILED) return read_error(name, reason_of(errno));
  file.bytes_ = {static_cast<const std::byte*>(memory), size};
  enter_mapping(memory, size);
  (void)madvise(
      memory, size,
      MADV_DONTDUMP);  // gigabytes that a core dump can do without; failing costs only that
  SATCHEL_TRY(file.check_unchanged());
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      stamp_(other.stamp_),
      bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(stamp_, other.stamp_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) leave_mapping(bytes_.data());
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> MappedFile::check_unchanged() const {
  if (descriptor_ < 0) return {};
  {
    const std::lock_guard hold(checks_);  // no older stamp in the place of a newer one
    SATCHEL_TRY_ASSIGN(const Stamp now, stamp_of(descriptor_));
    if (stamp_.is_written(now))
      return Error{ErrorKind::corrupt, "MODEL_CHANGED",
                   "The model file " + quoted(name_, 128) +
                       " changed while it was open, so Satchel stopped using it. Open the model "
                       "again."};
    stamp_ = now;  // a name that comes or goes excuses one change, not those that follow
  }
  if (has_faulted(bytes_.data()))
    return read_error(name_, "the disk failed. Check the disk, then open the model again");
  return {};
}

void MappedFile::let_go(std::span<const std::byte> bytes) const {
  if (bytes.empty() || bytes_.empty() || bytes.data() < bytes_.data() ||
      bytes.data() + bytes.size() > bytes_.data() + bytes_.size())
    return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(bytes.data() - bytes_.data());
  const std::size_t first = (offset + page - 1) / page * page;  // a mapping begins at a page
  const std::size_t end = (offset + bytes.size()) / page * page;
  if (first >= end) return;
  // The pages are clean and the file's: failing costs only memory.
  (void)madvise(const_cast<std::byte*>(bytes_.data()) + first, end - first, MADV_DONTNEED);
}

}  // namespace satchel::runtime
