// Whether a file may lie on another computer. There a write-ahead log does not do: its index is
// shared memory, which two computers do not share, though each can map the file.
//   source  sqlite.org/wal.html ("does not work over a network filesystem"); statfs(2)
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace satchel::storage {

// What statfs calls f_type, by its name; none: a local file system, or one that we don't know.
// FUSE counts: what is behind it cannot be told.
std::optional<std::string_view> network_disk_named(unsigned long type);
// Of the disk on which this file or folder is.
std::optional<std::string_view> network_disk(const std::filesystem::path& path);

}  // namespace satchel::storage
