#include "storage/migrations/migrations.h"

#include <string>
#include <system_error>

#include "storage/folder/folder.h"

namespace satchel::storage {
namespace {
Result<void> take_step(Connection& connection, const Migration& step) {
  SATCHEL_TRY_ASSIGN(Transaction change, connection.begin(Sync::full));
  SATCHEL_TRY(connection.exec(step.sql));
  SATCHEL_TRY_ASSIGN(Query orphans, connection.prepare("PRAGMA foreign_key_check"));
  SATCHEL_TRY_ASSIGN(const bool found, orphans.step());
  if (found)
    return Error{ErrorKind::corrupt, "LIBRARY_DAMAGED",
                 "The update to schema " + std::to_string(step.version) +
                     " found orphaned rows and was rolled back. Nothing was changed."};
  SATCHEL_TRY(connection.exec(("PRAGMA user_version=" + std::to_string(step.version)).c_str()));
  return change.commit();
}
}  // namespace

int newest_version(std::span<const Migration> migrations) {
  return migrations.empty() ? 0 : migrations.back().version;
}

Result<void> migrate(Connection& connection, std::span<const Migration> migrations) {
  SATCHEL_TRY_ASSIGN(const std::int64_t version, connection.integer("PRAGMA user_version"));
  for (const Migration& step : migrations)
    if (step.version > version) SATCHEL_TRY(take_step(connection, step));
  return {};
}

Result<void> back_up(Connection& connection, const std::filesystem::path& copy) {
  std::error_code ignored;
  std::filesystem::remove(copy, ignored);
  SATCHEL_TRY(make_private_file(copy));  // VACUUM INTO takes an empty file, and its mode
  {
    SATCHEL_TRY_ASSIGN(Query vacuum, connection.prepare("VACUUM INTO ?1"));
    const std::string path = copy.string();
    SATCHEL_TRY(vacuum.bind(1, path).run());
  }
  {
    SATCHEL_TRY_ASSIGN(
        Connection opened,
        Connection::open({copy, Access::read_only_media, Content::library, {}, connection.key()}));
    SATCHEL_TRY(opened.quick_check());
  }
  return sync_file(copy);  // SQLite does not sync what VACUUM INTO writes
}

}  // namespace satchel::storage
