// Migrations: schema steps, one SQL file each, compiled in (storage/CMakeLists.txt).
//   needs   files <name>-<number>.sql, numbered from 1 without gaps; never edit a released step
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

// Migrates the file from its user_version to the newest, one transaction per step. An up-to-date
// file does not change. Foreign keys are checked at the end of each step.
//   needs   user_version <= newest_version
//   errors  storage's; the file is then at the last completed step
Result<void> migrate(Connection& connection, std::span<const Migration> migrations);

// Makes a verified copy of the file; replaces an unfinished older copy at that path.
Result<void> back_up(Connection& connection, const std::filesystem::path& copy);

}  // namespace satchel::storage
