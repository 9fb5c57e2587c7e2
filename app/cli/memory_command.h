// The commands /limit and /preset: preview another memory limit or preset for a conversation, or
// apply it.
#pragma once

#include <optional>
#include <string_view>

#include "app/cli/console.h"
#include "app/cli/conversation.h"

namespace satchel::app {

struct MemoryCommand {
  bool is_limit = true;  // else it is about the preset
  runtime::MemoryRequest request;
  bool now = false;   // apply it; else only preview it
  bool same = false;  // the chat's own preset, to reread what was lowered to save memory
  // Whether the command only asks for the present limit or preset.
  bool asks() const { return request.limit_bytes == 0 && !request.recipe && !same; }
};
// Parses "/limit", "/limit 40MB", "/preset compact now", "/preset same"; nothing: another command.
// Fails with what is wrong with its arguments.
Result<std::optional<MemoryCommand>> memory_command(std::string_view line);

Result<void> obey(const MemoryCommand& command, Conversation& conversation, Console& console);

// "The memory limit is 60.0 MB; 41.2 MB is in use. …", and how to change it.
std::string describe_limit(const kvcache::CacheStats& stats);
// Of --on-disk; empty: nothing is there.
std::string describe_far(const kvcache::CacheStats& stats);
// "The preset is compact, recipe \"satchel\". …"
std::string describe_preset(const kvcache::Recipe& recipe, std::string_view architecture);
// What a higher limit would allow but does not restore by itself; may be empty.
std::string describe_coarser(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats);
// "12.1 MB instead of 31.0 MB: 45.0 % of the cache at lower precision. …"
std::string describe(const runtime::MemoryChange& change);
// Describes a change that was applied.
std::string describe_done(const runtime::MemoryChange& done);

}  // namespace satchel::app
