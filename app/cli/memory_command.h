// /limit and /preset of a conversation: what another memory limit or preset would do to it, and doing it.
#pragma once

#include <optional>
#include <string_view>

#include "app/cli/console.h"
#include "app/cli/conversation.h"

namespace satchel::app {

struct MemoryCommand {
  enum class Of { limit, preset } of = Of::limit;
  runtime::MemoryWish wish;
  bool now = false;   // do it; else say what it would do
  bool same = false;  // the chat's own preset, to read again what came down for want of room
  bool asks() const { return wish.limit_bytes == 0 && !wish.recipe && !same; }  // what it is now
};
// "/limit", "/limit 40MB", "/preset compact now", "/preset same"; nothing: the line is no such command.
// Fails with what is wrong with the rest of it.
Result<std::optional<MemoryCommand>> memory_command(std::string_view line);

Result<void> obey(const MemoryCommand& command, Conversation& conversation, Console& console);

// What it is now, and how to have another. "The memory limit is 60.0 MB, 41.2 MB are in use. …"
std::string describe_limit(const kvcache::CacheStats& stats);
// "The preset is compact, recipe \"satchel\". …"
std::string describe_preset(const kvcache::Recipe& recipe);
// What a higher limit gives room for but does not do by itself; empty where that is nothing.
std::string describe_coarser(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats);
// "12.1 MB instead of 31.0 MB; 45 % of what is held goes to fewer bits. …"
std::string describe(const runtime::MemoryChange& change);
// Of one that was made: nothing is to come any more.
std::string describe_done(const runtime::MemoryChange& done);

}  // namespace satchel::app
