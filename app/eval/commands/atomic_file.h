// AtomicFile: a result file (--answers, --output). What is written gathers in a file beside it,
// which takes its place when all is there, so that a file of that name is always whole; without
// finish() nothing is left.
//   errors  STORAGE with the path; open() fails before anything is measured
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::app {

class AtomicFile {
 public:
  static Result<std::unique_ptr<AtomicFile>> open(const std::string& path);
  static Result<std::unique_ptr<AtomicFile>> open_if_named(const std::string& path);  // "": null
  AtomicFile(std::filesystem::path path, std::filesystem::path part);
  AtomicFile(AtomicFile&&) = delete;
  ~AtomicFile();

  void add(std::string_view text) { out_ << text; }  // what cannot be written is finish()'s error
  Result<void> finish();

 private:
  std::filesystem::path path_, part_;
  std::ofstream out_;
};

}  // namespace satchel::app
