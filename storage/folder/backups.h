// Backups of library.db in the same folder: one before each schema migration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace satchel::storage {

// The path of the backup made before the migration to schema `version`.
std::filesystem::path backup_before(const std::filesystem::path& library, std::int64_t version);

// Those that are there, the newest first.
std::vector<std::filesystem::path> backups_of(const std::filesystem::path& library);

// Advice for the user: how to restore a backup, if the folder has one, or start with an empty
// library.
std::string advice_for_damaged_library(const std::filesystem::path& library);

}  // namespace satchel::storage
