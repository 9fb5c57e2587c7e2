// A file in a folder of the program's, that holds what was learnt of a model once: read with a limit,
// written whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::runtime {

// What messages call it.
struct KeptKind {
  std::string_view code;    // LANE_SHARES
  std::string_view noun;    // "lane table"
  std::string_view remedy;  // "Remove it, and it is made again."
  std::size_t bytes_max = 0;
};

// corrupt, `code`: it cannot be read, or has more than bytes_max.
Result<std::string> read_kept(const std::filesystem::path& path, const KeptKind& kind);
// Makes the folder, replaces an older file. storage, `code`.
Result<void> write_kept(const std::filesystem::path& path, std::string_view bytes,
                        const KeptKind& kind);
// corrupt, `code`: it is whole, but of another model.
Error of_another_model(std::string_view called, const KeptKind& kind);

}  // namespace satchel::runtime
