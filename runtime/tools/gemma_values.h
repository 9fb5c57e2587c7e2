// Values as Gemma 4 spells them: like JSON, with bare keys and strings between marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/tool_form.h"

namespace satchel::runtime {

inline constexpr std::string_view kGemmaQuote = "<|\"|>";

// In the order of their names, as the template has them.
std::vector<std::string> sorted_names(const OrderedJson& object);
enum class GemmaKeys { bare, quoted };
void add_gemma_value(const OrderedJson& value, GemmaKeys keys, MarkedText& out);
// "call:NAME{…}"; false: it is something else
bool read_gemma_call(std::string_view text, ToolCall& call);
// How many bytes there are up to `end`, itself included, that is in no string; npos: none yet.
std::size_t end_behind_gemma(std::string_view text, std::string_view end);

}  // namespace satchel::runtime
