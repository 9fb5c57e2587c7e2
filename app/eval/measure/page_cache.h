// Files in the system's page cache: reading them plainly, and putting them out of it.
//   limits  a virtual machine's host may keep them in a cache of its own, which nobody here sees
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "kernels/base/result.h"

namespace satchel::eval {

// From the first byte to the last, as `cat` does; how many there are.
//   errors  STORAGE
Result<std::uint64_t> read_plainly(std::span<const std::filesystem::path> files);
// Writes them to the disk and asks the system to forget their pages; which share is still there.
// A file in main memory (tmpfs) stays whole.
//   errors  STORAGE
Result<double> drop_from_page_cache(std::span<const std::filesystem::path> files);

}  // namespace satchel::eval
