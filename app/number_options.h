// Numbers and sizes in the options of both programs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::app {

// Takes digits that say a number in these bounds: the parser itself reads "-3" into an unsigned
// number as a very large one.
CLI::Validator whole_number(std::uint64_t least = 0,
                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
// "300 MB", "1.5GiB", "4096": bytes. Fails with invalid, PARAM.
Result<std::size_t> parse_bytes(std::string_view text);

}  // namespace satchel::app
