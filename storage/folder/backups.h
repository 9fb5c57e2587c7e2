// Backups of library.db in the same folder, one before each schema migration, and what else is left
// where it is lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::storage {

// The path of the backup made before the migration to schema `version`.
std::filesystem::path backup_before(const std::filesystem::path& library, std::int64_t version);

// Those that are there, the newest first.
std::vector<std::filesystem::path> backups_of(const std::filesystem::path& library);

// Advice for the user: how to restore a backup, if the folder has one, or start with an empty
// library.
std::string advice_for_damaged_library(const std::filesystem::path& library);

// The log with words that a library without a file left: -wal or -journal; none: there is none.
std::optional<std::filesystem::path> log_left_by(const std::filesystem::path& library);
// LIBRARY_DAMAGED: it is missing or empty, and `sign` shows that it had chats.
Error lost_library(const std::filesystem::path& library, const std::filesystem::path& sign);

}  // namespace satchel::storage
