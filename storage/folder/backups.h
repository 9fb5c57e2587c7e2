// The copies of library.db that stay beside it: one before each step to a newer schema.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace satchel::storage {

// Where the copy goes that is made before the library is brought to schema `version`.
std::filesystem::path backup_before(const std::filesystem::path& library, std::int64_t version);

// For people: how to go on with a backup, if there is one, or begin anew. Looks into the folder.
std::string advice_for_damaged_library(const std::filesystem::path& library);

}  // namespace satchel::storage
