// The commands and options of a program as its parser has them: what --help, the manual page and
// the completion scripts are all made of. Hidden ones (an empty group) are left out.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace satchel::app {

struct Command {
  std::string path;  // "eval recall"; "" is the program itself
  const CLI::App* app = nullptr;
};
// The program first, then each command before its own subcommands.
std::vector<Command> commands_of(const CLI::App& program);

std::vector<const CLI::Option*> options_of(const CLI::App& command);
std::vector<const CLI::Option*> positionals_of(const CLI::App& command);

// "-m", "--model": as they are typed.
std::vector<std::string> names_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);

}  // namespace satchel::app
