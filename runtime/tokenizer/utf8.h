// UTF-8 as Unicode defines it (chapter 3, table 3-7): no surrogates, no overlong forms, nothing
// above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace satchel::runtime {

enum class Utf8Form { whole, cut, broken };
struct Utf8Step {
  Utf8Form form = Utf8Form::whole;
  std::size_t bytes = 0;  // of the character; otherwise of the valid part, at least 1
  char32_t code = 0;      // of a whole character
};

// The first character of `text`, which is not empty. `cut`: the text ends inside it.
Utf8Step utf8_step(std::string_view text);

bool is_utf8(std::string_view text);

// Appends `text` with each invalid part replaced by one U+FFFD.
void append_utf8(std::string_view text, std::string& out);

// Appends a code point as UTF-8.
void append_code(char32_t code, std::string& out);

}  // namespace satchel::runtime
