// What the text of a chat template tells, read without running it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/tokenizer/turn_format.h"

namespace satchel::runtime {

// The format whose signs stand in the template, or nullptr.
const TurnFormat* recognised_format(std::string_view jinja);

// The template cuts white space around what people wrote.
bool trims_content(std::string_view jinja);

// The system text that the template writes when a chat brings none; "" if it has none.
//   differs  sentences that say today's date are left out, or the whole text where it cannot stand
//            without them (Mistral Small): the same chat gives the same token ids every day
struct DefaultSystem {
  std::string text, text_no_think;  // where thinking is off
};
DefaultSystem default_system_text(std::string_view jinja, const TurnFormat& format);

// What the template writes before any system text (Llama 3.1 and later: two dates); "" if nothing.
//   differs  "today" is the date that the template falls back on: the same chat gives the same
//            token ids every day
std::string system_preamble(std::string_view jinja);

// The template begins the thoughts itself: head_think stands behind the head.
bool opens_thinking(std::string_view jinja);

}  // namespace satchel::runtime
