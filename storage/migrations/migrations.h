// Migrations: the schemas as steps, one SQL file each, compiled in (storage/CMakeLists.txt).
//   needs   file <name>-<number>.sql, numbers from 1 without a gap; a step that was released is
//           never edited
#pragma once

#include <filesystem>
#include <span>

#include "kernels/base/result.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {

struct Migration {
  int version;  // user_version after it
  const char* sql;
};
std::span<const Migration> library_migrations();
std::span<const Migration> kv_migrations();

int newest_version(std::span<const Migration> migrations);

// Brings the file from its user_version to the newest, one transaction a step; a file that is there
// already does not change. Foreign keys are checked at each step's end.
//   needs   user_version <= newest_version
//   errors  storage's; the file is then at the last step that was whole
Result<void> migrate(Connection& connection, std::span<const Migration> migrations);

// A checked copy of the file. An unfinished older copy at that place is replaced.
Result<void> back_up(Connection& connection, const std::filesystem::path& copy);

}  // namespace satchel::storage
