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

// run(*options, console) gives Result<void>, or Result<int> where the exit code is its own. It does
// not run where a command below this one was given.
template <class Given, class Body>
void on_run(CLI::App& command, const Choose& choose, std::shared_ptr<Given> options, Body run) {
  command.callback([=, &command] {
    if (!command.get_subcommands().empty()) return;
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
