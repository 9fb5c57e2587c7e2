#include "app/eval/commands/atomic_file.h"

#include <unistd.h>

#include <system_error>

namespace satchel::app {
namespace fs = std::filesystem;

Result<std::unique_ptr<AtomicFile>> AtomicFile::open(const std::string& path) {
  std::error_code error;
  // A device or folder would be replaced by the file.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return Error{ErrorKind::storage, "STORAGE",
                 "\"" + path + "\" exists but is not a regular file."};
  auto file = std::make_unique<AtomicFile>(path, path + "." + std::to_string(::getpid()) + ".part");
  if (!file->out_.is_open())
    return Error{ErrorKind::storage, "STORAGE",
                 "\"" + path + "\" cannot be written. Nothing was measured."};
  return file;
}

Result<std::unique_ptr<AtomicFile>> AtomicFile::open_if_named(const std::string& path) {
  return path.empty() ? std::unique_ptr<AtomicFile>() : open(path);
}

AtomicFile::AtomicFile(fs::path path, fs::path part)
    : path_(std::move(path)), part_(std::move(part)), out_(part_, std::ios::binary) {}

AtomicFile::~AtomicFile() {
  if (!out_.is_open()) return;
  out_.close();
  std::error_code ignored;
  fs::remove(part_, ignored);
}

Result<void> AtomicFile::finish() {
  out_.close();
  std::error_code error;
  if (out_.good()) fs::rename(part_, path_, error);
  if (out_.good() && !error) return {};
  const std::string why = error ? error.message() : "the disk may be full";
  fs::remove(part_, error);
  return Error{
      ErrorKind::storage, "STORAGE",
      "\"" + path_.string() + "\" was not written: " + why + ". An existing file is unchanged."};
}

}  // namespace satchel::app
