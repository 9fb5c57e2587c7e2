#include "app/manual/option_table.h"

namespace satchel::app {
namespace {

void collect(const std::string& path, const CLI::App& app, std::vector<Command>& found) {
  found.push_back({path, &app});
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty())
      collect(path.empty() ? command->get_name() : path + " " + command->get_name(), *command,
              found);
}

}  // namespace

std::vector<Command> commands_of(const CLI::App& program) {
  std::vector<Command> found;
  collect("", program, found);
  return found;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  });
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return option->get_positional() && !option->get_group().empty();
  });
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

}  // namespace satchel::app
