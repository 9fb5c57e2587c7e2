// /limit and /preset of a conversation: what another memory limit or preset would do to it, and doing it.
#pragma once

#include <optional>
#include <string_view>

#include "app/cli/console.h"
#include "app/cli/conversation.h"

namespace satchel::app {

struct MemoryCommand {
  runtime::MemoryWish wish;
  bool now = false;  // do it; else say what it would do
};
// "/limit 40MB", "/preset compact now"; nothing: the line is no such command. Fails with what is wrong
// with the rest of it.
Result<std::optional<MemoryCommand>> memory_command(std::string_view line);

Result<void> obey(const MemoryCommand& command, Conversation& conversation, Console& console);

// "12.1 MB instead of 31.0 MB; 45 % of what is held goes to fewer bits. …"
std::string describe(const runtime::MemoryChange& change);

}  // namespace satchel::app
