// A folder of the test's own, gone with it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace satchel::test {

// In main memory where there is such a place: for tests that open thousands of files, whose syncs
// would take minutes.
enum class Place { disk, memory };

class TempFolder {
 public:
  explicit TempFolder(Place place = Place::disk) {
    namespace fs = std::filesystem;
    const fs::path memory = "/dev/shm";
    const bool in_memory = place == Place::memory && ::access(memory.c_str(), W_OK) == 0;
    const fs::path base = in_memory ? memory : fs::temp_directory_path();
    std::string name = (base / "satchel-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(TempFolder&&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace satchel::test
