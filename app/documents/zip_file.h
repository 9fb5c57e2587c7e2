// ZipFile: the entries of a zip file, unpacked into memory one by one. What an entry is called is
// never the name of a file here.
//   limits  10,000 entries; 64 MiB unpacked in all; above 1 MiB, 100 times what is packed
//   errors  DOC_FORMAT, DOC_LIMIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "kernels/base/result.h"

struct zip;

namespace satchel::app {

class ZipFile {
 public:
  static Result<ZipFile> open(const std::filesystem::path& file);
  bool has(const std::string& name) const;
  Result<std::string> read(const std::string& name) const;  // DOC_FORMAT: there is none

 private:
  struct Close {
    void operator()(zip* file) const;
  };
  explicit ZipFile(zip* file) : file_(file) {}
  std::unique_ptr<zip, Close> file_;
  mutable std::size_t n_unpacked_ = 0;
};

}  // namespace satchel::app
