// Values and calls as Python spells them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/tool_form.h"

namespace satchel::runtime {

// Objects are JSON, as the template writes them.
std::string python_literal(const OrderedJson& value);
// "[name(a=1, b='x'), …]": calls with named arguments, of literals. JSON's names and escapes are
// taken, too. False: it is something else; nothing was added.
bool read_python_calls(std::string_view text, std::vector<ToolCall>& calls);

}  // namespace satchel::runtime
