#include "runtime/tokenizer/detect_template.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace satchel::runtime {
namespace {

bool has(std::string_view text, std::string_view sign) {
  return text.find(sign) != std::string_view::npos;
}

const TurnFormat* mistral_format(std::string_view jinja) {
  if (has(jinja, "[SYSTEM_PROMPT]"))
    return &turn_format(has(jinja, "[SYSTEM_PROMPT] ") ? "mistral-v7" : "mistral-v7-tekken");
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
  for (const std::string_view mark : {"{{", "}}", "{%", "%}", "{#", "#}"})
    if (has(text, mark)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      continue;
    }
    const bool letter_before = i > 0 && std::isalpha(static_cast<unsigned char>(text[i - 1])) != 0;
    const bool letter_after =
        i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text[i] == '\'' && letter_before && letter_after) continue;  // an apostrophe
    if (text[i] == '\'' || text[i] == '"') return false;
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

// `literal` as the template may spell it.
bool has_literal(std::string_view jinja, std::string_view literal) {
  return has(jinja, literal) || has(jinja, with_escapes(literal));
}

const TurnFormat* chatml_format(std::string_view jinja) {
  if (has(jinja, "<|im_sep|>")) return &turn_format("phi-4");
  if (has(jinja, "Reasoning Mode: ") && has(jinja, "## Custom Instructions"))
    return &turn_format("smollm3");
  if (has(jinja, "{{ system_message }}") && !has(jinja, "<|im_start|>system") &&
      !has(jinja, "'<|im_start|>' + "))
    return &turn_format("yi");
  if (has(jinja, "truncate_history_thinking") && has(jinja, "<think></think>"))
    return &turn_format("nemotron-3");
  if (has(jinja, "enable_thinking") && has_literal(jinja, "<think>\n\n</think>\n\n"))
    return &turn_format("qwen3");
  return &turn_format("chatml");
}

// <|user|> and <|assistant|>: what closes a turn tells them apart.
const TurnFormat* named_roles_format(std::string_view jinja) {
  std::string quoted(jinja);
  std::replace(quoted.begin(), quoted.end(), '"', '\'');
  if (has(quoted, "<|end|>")) {
    if (!has(quoted, "<|user|>") && !has(quoted, "'<|' + message['role'] + '|>'")) return nullptr;
    const bool has_lines =
        has_literal(quoted, "<|end|>\n") || has_literal(quoted, "'<|end|>' + '\n'");
    return &turn_format(has_lines ? "phi-3" : "phi-4-mini");
  }
  if (has_literal(quoted, "'<|user|>\n' + message['content'] + eos_token"))
    return &turn_format("zephyr");
  if (has_literal(quoted, "'<|user|>\n' + message['content'] + '\n'"))
    return &turn_format("olmo-2");
  return nullptr;
}

// GLM-4.7 has no line break behind a role; GLM-4 itself, without thoughts, is another.
const TurnFormat* glm_format(std::string_view jinja) {
  if (!has(jinja, "</think>")) return nullptr;
  return &turn_format(has_literal(jinja, "<|user|>\n") ? "glm-4.5" : "glm-4.7");
}

// SmolLM3 has two default texts, each a string of its own that ends with an empty line.
DefaultSystem smollm3_default(std::string_view jinja) {
  constexpr std::string_view kBegin = "\"You are a helpful AI assistant named SmolLM";
  const auto text_at = [&](std::size_t from) -> std::pair<std::string, std::size_t> {
    const std::size_t at = jinja.find(kBegin, from);
    if (at == std::string_view::npos) return {{}, at};
    const std::size_t end = jinja.find("\\n\\n\"", at);
    if (end == std::string_view::npos) return {{}, end};
    return {std::string(jinja.substr(at + 1, end - at - 1)), end};
  };
  const auto [text, end] = text_at(0);
  if (end == std::string_view::npos) return {};
  return {text, text_at(end).first};
}

}  // namespace

const TurnFormat* recognised_format(std::string_view jinja) {
  if (has(jinja, "<|turn>") && has(jinja, "<turn|>"))
    return has_literal(jinja, "<|channel>thought\n<channel|>") ? &turn_format("gemma-4") : nullptr;
  if (has(jinja, "<SPECIAL_10>System") && has(jinja, "<SPECIAL_12>"))
    return &turn_format("nemotron-2");
  if (has(jinja, "[gMASK]<sop>") && has(jinja, "<|observation|>")) return glm_format(jinja);
  if (has(jinja, "<|im_start|>")) return chatml_format(jinja);
  if (has(jinja, "<|start_header_id|>") && has(jinja, "<|eot_id|>")) return &turn_format("llama-3");
  if (has(jinja, "<start_of_turn>")) return &turn_format("gemma");
  if (has(jinja, "<｜User｜>") && has(jinja, "<｜Assistant｜>")) return &turn_format("deepseek-r1");
  if (has_literal(jinja, "'User: ' + message['content'] + '\n\n'") &&
      has(jinja, "'Assistant: ' + message['content'] + eos_token"))
    return &turn_format("deepseek-v2");
  if (has(jinja, "<|start|>") && has(jinja, "<|channel|>")) return &turn_format("harmony");
  if (has(jinja, "<|start_of_role|>") && has(jinja, "<|end_of_text|>"))
    return &turn_format("granite");
  if (has(jinja, "<|assistant|>")) return named_roles_format(jinja);
  if (has(jinja, "[INST]") && has(jinja, "<<SYS>>")) return &turn_format("llama-2");
  if (has(jinja, "[INST]")) return mistral_format(jinja);
  return nullptr;
}

bool trims_content(std::string_view jinja) {
  // Nemotron 3 and GLM trim answers alone.
  if (has(jinja, "truncate_history_thinking") || has(jinja, "[gMASK]<sop>")) return false;
  constexpr std::array<std::string_view, 10> kSigns = {
      "content'] | trim",   "content']|trim",
      "content\"] | trim",  "content\"]|trim",
      "content | trim",     "content.strip()",
      "content'].strip()",  "replace('/no_think', '').strip()",
      "content\"].strip()", "render_content(message.content, true)|trim"};  // Qwen 3.5
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return has(jinja, sign); });
}

// Granite 4's templates put the default text into a variable; later ones have none.
constexpr std::string_view kGranite4Default = "g4_default_system_message = '";

DefaultSystem default_system_text(std::string_view jinja, const TurnFormat& format) {
  if (format.name == "smollm3") return smollm3_default(jinja);
  if (format.name == "granite" && has(jinja, "You are Granite, developed by IBM.") &&
      has(jinja, "Knowledge Cutoff Date: April 2024")) {
    const std::string text =
        "Knowledge Cutoff Date: April 2024.\nYou are Granite, developed by IBM. You are a helpful "
        "AI assistant.";
    return {text, text};
  }
  if (format.name == "granite" && has(jinja, kGranite4Default)) {
    const std::string text = literal_between(jinja, kGranite4Default, "'");
    return {text, text};
  }
  if (format.system_in_first_turn || format.system_before.empty()) return {};
  // The control token that closes the turn, without the newline after it.
  const std::string_view after = format.system_after.substr(0, format.system_after.find('\n'));
  if (after.empty()) return {};
  std::string text = literal_between(jinja, with_escapes(format.system_before), after);
  if (text.empty()) text = literal_between(jinja, format.system_before, after);
  return {text, text};
}

std::string system_preamble(std::string_view jinja) {
  constexpr std::string_view kCutoff = "Cutting Knowledge Date: December 2023";
  if (!has(jinja, kCutoff) || !has(jinja, "Today Date: ")) return {};
  return "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
}

bool opens_thinking(std::string_view jinja) {
  // DeepSeek-R1; QwQ and Qwen 3 that only thinks; Qwen with a switch that opens where it is on.
  return has_literal(jinja, "<｜Assistant｜><think>\n") ||
         has_literal(jinja, "<|im_start|>assistant\n<think>\n'") ||
         has_literal(jinja, "{{- '<think>\n' }}") || has_literal(jinja, "'<think>\n' -}}") ||
         has_literal(jinja, "else '<think>' -}}");
}

}  // namespace satchel::runtime
