// The file of `satchel eval --answers`: a line of JSON for every judged question. Lines gather in a
// file beside it, which takes its place when all are written, so that a file of that name is always
// whole; without finish() nothing is left.
//   errors  STORAGE with the path
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "app/cli/console.h"

namespace satchel::app {

class AnswerSheet {
 public:
  static Result<std::unique_ptr<AnswerSheet>> open(const std::string& path);
  AnswerSheet(std::filesystem::path path, std::filesystem::path part);
  AnswerSheet(AnswerSheet&&) = delete;
  ~AnswerSheet();

  void add(const Json& line);  // what cannot be written is finish()'s error
  Result<void> finish();

 private:
  std::filesystem::path path_, part_;
  std::ofstream out_;
};

}  // namespace satchel::app
