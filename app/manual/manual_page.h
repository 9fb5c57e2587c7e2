// A program's manual page, made of its parser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace satchel::app {

// In the man macros of roff, section 1.
//   version  "0.1.0"
std::string manual_page(const CLI::App& program, const std::string& version);

}  // namespace satchel::app
