// Texts of a user's own, in place of those that ship: for what is learnt of a model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/profile/lane_profiler.h"

namespace satchel::app {

// Kept apart from who reads them, who only looks: `list` points into the others.
struct TextFiles {
  TextFiles() = default;
  TextFiles(const TextFiles&) = delete;
  std::vector<std::string> names, contents;
  std::vector<runtime::ProfileText> list;
};
// Each is called as its file without folder and ending. Errors of read_text_file().
Result<void> read_text_files(std::span<const std::string> paths, TextFiles& texts);

}  // namespace satchel::app
