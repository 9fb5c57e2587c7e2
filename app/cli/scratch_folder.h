// A folder for one run, in the system's temporary folder, removed at its end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "kernels/base/result.h"

namespace satchel::app {

class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> make() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "satchel-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr)
      return Error{ErrorKind::storage, "STORAGE",
                   "Cannot create a folder in the system's temporary folder."};
    return std::make_unique<ScratchFolder>(name);
  }
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  ScratchFolder(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace satchel::app
