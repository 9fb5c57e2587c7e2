#include "runtime/profile/profile_file.h"

#include <unistd.h>

#include <fstream>
#include <system_error>

namespace satchel::runtime {

namespace fs = std::filesystem;

fs::path kept_path(const fs::path& dir, const std::string& fingerprint, const ProfileKind& kind) {
  return dir / (fingerprint + std::string(kind.ending));
}

Result<std::string> read_profile(const fs::path& path, const ProfileKind& kind) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size <= kind.bytes_max) {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (file.good() && static_cast<std::size_t>(file.gcount()) == bytes.size()) return bytes;
  }
  return Error{ErrorKind::corrupt, std::string(kind.code),
               "\"" + path.string() + "\" is not a valid " + std::string(kind.noun) +
                   ": it cannot be read or is larger than " + std::to_string(kind.bytes_max >> 20) +
                   " MiB. " + std::string(kind.remedy)};
}

Result<void> write_profile(const fs::path& path, std::string_view bytes, const ProfileKind& kind) {
  // A name of its own: two programs may find the same at the same time.
  const fs::path written = path.string() + "." + std::to_string(::getpid()) + ".new";
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  const bool whole = [&] {
    std::ofstream file(written, std::ios::binary | std::ios::trunc);
    file << bytes;
    file.close();
    return !error && file.good();
  }();
  if (whole) fs::rename(written, path, error);
  if (whole && !error) return {};
  std::error_code ignored;
  fs::remove(written, ignored);
  return Error{ErrorKind::storage, std::string(kind.code),
               "The " + std::string(kind.noun) + " \"" + path.string() + "\" cannot be written" +
                   (error ? ": " + error.message() : std::string()) + "."};
}

Error of_another_model(std::string_view called, const ProfileKind& kind) {
  return {ErrorKind::corrupt, std::string(kind.code),
          "\"" + std::string(called) + "\" is a " + std::string(kind.noun) +
              " for another model. " + std::string(kind.remedy)};
}

}  // namespace satchel::runtime
