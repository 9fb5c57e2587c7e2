#include "app/eval/measure/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace satchel::eval {
namespace {

constexpr std::size_t kReadBytes = 1u << 20;  // as `cat` and `dd bs=1M` read

Error not_read(const std::filesystem::path& path, int failure) {
  return {ErrorKind::storage, "STORAGE",
          "\"" + path.filename().string() +
              "\" cannot be read: " + std::generic_category().message(failure) + "."};
}

class File {
 public:
  static Result<File> open(const std::filesystem::path& path) {
    File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.descriptor_ < 0) return not_read(path, errno);
    return Result<File>(std::move(file));
  }
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (descriptor_ >= 0) (void)::close(descriptor_);
  }
  int get() const { return descriptor_; }
  std::size_t size() const {
    struct stat found {};
    return ::fstat(descriptor_, &found) == 0 ? static_cast<std::size_t>(found.st_size) : 0;
  }

 private:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

struct Pages {
  std::size_t n_here = 0, n_all = 0;
};

Result<Pages> pages_of(const File& file, const std::filesystem::path& path) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t n_bytes = file.size();
  if (n_bytes == 0) return Pages{};
  void* mapped = ::mmap(nullptr, n_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return not_read(path, errno);
  std::vector<unsigned char> here((n_bytes + page_bytes - 1) / page_bytes);
  const int failure = ::mincore(mapped, n_bytes, here.data()) == 0 ? 0 : errno;
  (void)::munmap(mapped, n_bytes);
  if (failure != 0) return not_read(path, failure);
  const auto n_here = std::ranges::count_if(here, [](unsigned char page) { return page & 1u; });
  return Pages{static_cast<std::size_t>(n_here), here.size()};
}

}  // namespace

Result<std::uint64_t> read_plainly(std::span<const std::filesystem::path> files) {
  std::vector<char> bytes(kReadBytes);
  std::uint64_t n = 0;
  for (const std::filesystem::path& path : files) {
    SATCHEL_TRY_ASSIGN(const File file, File::open(path));
    for (;;) {
      const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
      if (got < 0) return not_read(path, errno);
      if (got == 0) break;
      n += static_cast<std::uint64_t>(got);
    }
  }
  return n;
}

Result<double> drop_from_page_cache(std::span<const std::filesystem::path> files) {
  Pages pages;
  for (const std::filesystem::path& path : files) {
    SATCHEL_TRY_ASSIGN(const File file, File::open(path));
    // Pages that are not on the disk yet are not forgotten.
    if (::fsync(file.get()) != 0) return not_read(path, errno);
    if (const int failure = ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED); failure != 0)
      return not_read(path, failure);
    SATCHEL_TRY_ASSIGN(const Pages left, pages_of(file, path));
    pages.n_here += left.n_here;
    pages.n_all += left.n_all;
  }
  return pages.n_all == 0 ? 0
                          : static_cast<double>(pages.n_here) / static_cast<double>(pages.n_all);
}

}  // namespace satchel::eval
