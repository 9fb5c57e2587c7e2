#include "app/cli/terminal_text.h"

#include "runtime/tokenizer/utf8.h"

namespace satchel::app {
namespace {

bool is_control(char32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
}

// Embeddings, overrides and isolates of UAX #9.
bool changes_direction(char32_t code) {
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string written_out(char32_t code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = code < 0x100 ? "\\x" : "\\u";
  for (int shift = code < 0x100 ? 4 : 12; shift >= 0; shift -= 4)
    text += kHex[(code >> shift) & 0xfu];
  return text;
}

}  // namespace

std::string terminal_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const runtime::Utf8Step step = runtime::utf8_step(text);
    const bool is_line_end = text.starts_with("\r\n");
    if (step.form != runtime::Utf8Form::whole)
      runtime::append_code(0xfffd, out);
    else if (is_control(step.code) || changes_direction(step.code))
      out += is_line_end ? std::string() : written_out(step.code);
    else
      out += text.substr(0, step.bytes);
    text.remove_prefix(step.bytes);
  }
  return out;
}

}  // namespace satchel::app
