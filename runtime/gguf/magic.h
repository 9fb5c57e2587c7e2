// Says in words what a file that is no GGUF model looks like, by its first bytes: "a zip archive".
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace satchel::runtime {

// Empty if nothing known fits.
std::string_view guess_format(std::span<const std::byte> start);

}  // namespace satchel::runtime
