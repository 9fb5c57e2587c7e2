// on_run: what every command does with its parsed options: make the console, run, turn an error
// into its message and exit code.
#pragma once

#include <concepts>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/options.h"

namespace satchel::app {

template <class Given>
const Options& common_of(const Given& given) {
  if constexpr (requires { given.eval; })
    return given.eval.common;
  else if constexpr (requires { given.common; })
    return given.common;
  else
    return given;
}

// A command below this one has options of its own: this one's would be dropped.
inline void refuse_options_before(const CLI::App& below, const CLI::App& command) {
  const auto given = [](const CLI::Option* option) { return option->count() > 0; };
  for (const CLI::Option* option : command.get_options(given))
    throw CLI::ValidationError(option->get_name(),
                               "\"" + command.get_name() + " " + below.get_name() +
                                   "\" takes its options after \"" + below.get_name() + "\"");
}

// run(*options, console) gives Result<void>, or Result<int> where the exit code is its own. It does
// not run where a command below this one was given, before which it may not have options.
template <class Given, class Body>
void on_run(CLI::App& command, const Choose& choose, std::shared_ptr<Given> options, Body run) {
  command.callback([=, &command] {
    if (const auto below = command.get_subcommands(); !below.empty())
      return refuse_options_before(*below.front(), command);
    choose([=] {
      Console console(common_of(*options).json, common_of(*options).quiet);
      const auto done = run(*options, console);
      if (!done.ok()) return console.fail(done.error());
      if constexpr (std::same_as<decltype(done), const Result<int>>)
        return *done;
      else
        return int{kExitOk};
    });
  });
}

}  // namespace satchel::app
