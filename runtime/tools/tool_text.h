// What the forms of tools have in common: JSON as models have seen it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/tools/tool_form.h"

namespace satchel::runtime {

// With a space behind "," and ":", as Python's json writes it; what is not UTF-8 is replaced.
std::string spaced_json(const OrderedJson& value);
std::string compact_json(const OrderedJson& value);
// {"type": "function", "function": {…}}
OrderedJson tool_json(const Tool& tool);
// What it says as JSON; discarded where it is none, or costs more than it is worth (json_excess()).
OrderedJson read_json(std::string_view text);
// As JSON; what is none is a string.
OrderedJson arguments_of(const ToolCall& call);
// Of a tool that takes nothing.
inline constexpr std::string_view kNoParameters =
    R"({"type":"object","properties":{},"additionalProperties":false})";
// A tool's schema; kNoParameters where it has none.
std::string_view schema_of(const Tool& tool);
// nullptr: there is none of this name
const Tool* find_tool(std::span<const Tool> tools, std::string_view name);
// {"name": "NAME", "arguments": {…}}: what may be said, and whether one was.
Result<GrammarBuilder::Node> json_call(CallGrammar& grammar);
bool read_json_call(const OrderedJson& said, std::vector<ToolCall>& calls);
// How many bytes there are up to the end, itself included, that is in no string; npos: there is
// none yet. quotes: around strings
std::size_t end_behind_json(std::string_view text, std::string_view end,
                            std::string_view quotes = "\"");
// Says which tool's schema is refused.
Error of_tool(const Tool& tool, const Error& error);

inline constexpr std::string_view kSpace = " \t\r\n";
std::string_view trimmed_end(std::string_view text);
std::string_view trimmed(std::string_view text);

}  // namespace satchel::runtime
