// ToolMarks: which form of tools a chat template was published with, by signs in its text, and the
// tokens that this form's calls are marked with.
#pragma once

#include <array>
#include <string_view>

namespace satchel::runtime {

// Stands before the spelling of such a token in a grammar (token_trie_of), so that none is taken
// for the same characters inside a value: no text has this byte.
inline constexpr char kMarkByte = '\xff';

struct ToolMarks {
  std::string_view form = {};                   // its name in runtime/tools
  std::array<std::string_view, 2> signs = {};   // in a template; "": no more
  std::array<std::string_view, 8> tokens = {};  // in calls, "": no more. They may be control tokens
};

// Of a template with this text; JSON's where it says nothing of tools.
const ToolMarks& tool_marks_in(std::string_view jinja);
// needs the name of a form
const ToolMarks& tool_marks(std::string_view form);

}  // namespace satchel::runtime
