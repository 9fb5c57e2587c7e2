// Scripts that complete the program's commands and options in a shell, made of its parser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace satchel::app {

// shell  "bash", "zsh" or "fish"
std::string completion_script(const CLI::App& program, const std::string& shell);

}  // namespace satchel::app
