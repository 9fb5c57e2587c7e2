#include "runtime/tokenizer/recognise.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace satchel::runtime {
namespace {

bool has(std::string_view text, std::string_view sign) {
  return text.find(sign) != std::string_view::npos;
}

const TurnFormat* mistral_format(std::string_view jinja) {
  if (has(jinja, "[SYSTEM_PROMPT]")) return nullptr;  // v7: a turn of its own, not known here
  if (has(jinja, " [/INST]")) return &turn_format("mistral");
  return &turn_format(has(jinja, "[INST] ") ? "mistral-v3" : "mistral-tekken");
}

// A newline in a template is a newline, or the two characters of its escape in a string.
std::string with_escapes(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string without_escapes(std::string_view literal) {
  std::string out;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out += literal[i];
      continue;
    }
    const char c = literal[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return out;
}

// Text inside one string literal, or outside of all: no quotation mark ends it, nothing is put in.
bool is_literal(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      continue;
    }
    const bool letter_before = i > 0 && std::isalpha(static_cast<unsigned char>(text[i - 1])) != 0;
    const bool letter_after =
        i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text[i] == '\'' && letter_before && letter_after) continue;  // an apostrophe
    if (text[i] == '\'' || text[i] == '"' || text[i] == '{' || text[i] == '}') return false;
  }
  return true;
}

std::string literal_between(std::string_view jinja, std::string_view before,
                            std::string_view after) {
  for (std::size_t at = 0; (at = jinja.find(before, at)) != std::string_view::npos;) {
    at += before.size();
    const std::size_t end = jinja.find(after, at);
    if (end == std::string_view::npos) return {};
    const std::string_view text = jinja.substr(at, end - at);
    if (!text.empty() && is_literal(text)) return without_escapes(text);
  }
  return {};
}

}  // namespace

const TurnFormat* recognised_format(std::string_view jinja) {
  if (has(jinja, "<|im_start|>"))
    return &turn_format(has(jinja, "<|im_sep|>") ? "phi-4" : "chatml");
  if (has(jinja, "<|start_header_id|>") && has(jinja, "<|eot_id|>")) return &turn_format("llama-3");
  if (has(jinja, "<start_of_turn>")) return &turn_format("gemma");
  if (has(jinja, "<|user|>") && has(jinja, "<|assistant|>") && has(jinja, "<|end|>"))
    return &turn_format("phi-3");
  if (has(jinja, "[INST]") && has(jinja, "<<SYS>>")) return &turn_format("llama-2");
  if (has(jinja, "[INST]")) return mistral_format(jinja);
  return nullptr;
}

bool trims_content(std::string_view jinja) {
  constexpr std::array<std::string_view, 8> kSigns = {
      "content'] | trim", "content']|trim",  "content\"] | trim", "content\"]|trim",
      "content | trim",   "content.strip()", "content'].strip()", "content\"].strip()"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return has(jinja, sign); });
}

std::string default_system_text(std::string_view jinja, const TurnFormat& format) {
  if (format.system_in_first_turn) return {};
  // The control token that closes the turn, without the newline after it.
  const std::string_view after = format.system_after.substr(0, format.system_after.find('\n'));
  std::string text = literal_between(jinja, with_escapes(format.system_before), after);
  if (text.empty()) text = literal_between(jinja, format.system_before, after);
  return text;
}

std::string system_preamble(std::string_view jinja) {
  constexpr std::string_view kCutoff = "Cutting Knowledge Date: December 2023";
  if (!has(jinja, kCutoff) || !has(jinja, "Today Date: ")) return {};
  return "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
}

}  // namespace satchel::runtime
