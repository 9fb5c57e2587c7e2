// Properties of a chat template, detected from its text without executing it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/tokenizer/turn_format.h"

namespace satchel::runtime {

// The format that the template matches, or null.
const TurnFormat* recognised_format(std::string_view jinja);

// Whether the template trims white space around messages.
bool trims_content(std::string_view jinja);

// The template's own system text for chats without one; "" if none.
//   differs  sentences with today's date are left out, or the whole text if it makes no sense
//            without them (Mistral Small): the same chat gives the same token ids every day
struct DefaultSystem {
  std::string text, text_no_think;  // text_no_think: with thinking off
};
DefaultSystem default_system_text(std::string_view jinja, const TurnFormat& format);

// The text before any system text (Llama 3.1 and later: two dates); "" if none.
//   differs  "today" is the template's fallback date: the same chat gives the same token ids every
//            day
std::string system_preamble(std::string_view jinja);

// Whether the template opens the thoughts itself: head_think follows the head.
bool opens_thinking(std::string_view jinja);

}  // namespace satchel::runtime
