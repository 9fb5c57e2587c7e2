#include "app/eval/commands/text_files.h"

#include <filesystem>

#include "app/cli/console.h"

namespace satchel::app {

Result<void> read_text_files(std::span<const std::string> paths, TextFiles& texts) {
  for (const std::string& path : paths) {
    SATCHEL_TRY_ASSIGN(texts.contents.emplace_back(), read_text_file(path));
    texts.names.push_back(std::filesystem::path(path).stem().string());
  }
  for (std::size_t i = 0; i < texts.names.size(); ++i)
    texts.list.push_back({texts.names[i], texts.contents[i]});
  return {};
}

}  // namespace satchel::app
