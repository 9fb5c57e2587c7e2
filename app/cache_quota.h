// --cache-quota and --thin-after of the programs that save caches.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace satchel::app {

// bytes: the default, and what was given; outlives the parse.
void add_cache_quota(CLI::App& command, std::uint64_t& bytes);
// days: likewise
void add_thin_after(CLI::App& command, std::uint64_t& days);

}  // namespace satchel::app
