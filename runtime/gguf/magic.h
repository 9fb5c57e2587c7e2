// Describes a file that is not a GGUF model by its first bytes: "a zip archive".
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace satchel::runtime {

// Empty if the format is unknown.
std::string_view guess_format(std::span<const std::byte> start);

}  // namespace satchel::runtime
