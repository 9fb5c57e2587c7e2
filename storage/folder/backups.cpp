#include "storage/folder/backups.h"

#include <system_error>

#include "storage/folder/folder.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;

constexpr std::int64_t kVersionMax = 99;  // of schemas there are far fewer

}  // namespace

fs::path backup_before(const fs::path& library, std::int64_t version) {
  return library.parent_path() / ("library-before-" + std::to_string(version) + ".db");
}

std::vector<fs::path> backups_of(const fs::path& library) {
  std::vector<fs::path> found;
  for (std::int64_t version = kVersionMax; version > 0; --version) {
    std::error_code ignored;
    const fs::path backup = backup_before(library, version);
    if (fs::is_regular_file(backup, ignored)) found.push_back(backup);
  }
  return found;
}

std::string advice_for_damaged_library(const fs::path& library) {
  const std::string name = library.filename().string();
  // All of them: a log of the damaged file would be taken for one of its successor.
  const std::string move_away =
      "move all files whose names begin with \"" + name + "\" to a safe place";
  const std::vector<fs::path> backups = backups_of(library);
  if (backups.empty()) return "To start with an empty library, " + move_away + ".";
  return "To repair it, first " + move_away + ". Then rename the backup \"" +
         backups.front().filename().string() + "\" to \"" + name +
         "\", or start with an empty library.";
}

std::optional<fs::path> log_left_by(const fs::path& library) {
  for (const char* suffix : {"-wal", "-journal"}) {
    fs::path log = library.string() + suffix;
    if (!is_empty_or_missing(log)) return log;
  }
  return std::nullopt;
}

Error lost_library(const fs::path& library, const fs::path& sign) {
  std::error_code unknown;
  return {ErrorKind::corrupt, "LIBRARY_DAMAGED",
          "The library \"" + library.string() +
              (fs::exists(library, unknown) ? "\" is empty, but \"" : "\" is missing, but \"") +
              sign.string() + "\" shows that chats were saved here. Nothing was changed. " +
              advice_for_damaged_library(library)};
}

}  // namespace satchel::storage
