// The command that answers other programs.
#pragma once

#include "app/cli/commands.h"

namespace satchel::app {

void add_serve(CLI::App& app, const Choose& choose);

}  // namespace satchel::app
