#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// What the first byte promises: length, and the range of the second byte, which excludes overlong
// forms, surrogates and what lies above U+10FFFF.
struct Lead {
  std::size_t bytes = 0;  // 0: no first byte
  unsigned second_min = 0x80, second_max = 0xBF;
};

Lead lead_of(unsigned first) {
  if (first < 0x80) return {1};
  if (first < 0xC2) return {0};
  if (first < 0xE0) return {2};
  if (first < 0xF0) return {3, first == 0xE0 ? 0xA0u : 0x80u, first == 0xED ? 0x9Fu : 0xBFu};
  if (first < 0xF5) return {4, first == 0xF0 ? 0x90u : 0x80u, first == 0xF4 ? 0x8Fu : 0xBFu};
  return {0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const Lead lead = lead_of(first);
  if (lead.bytes == 0) return {Utf8Form::broken, 1, 0};
  if (lead.bytes == 1) return {Utf8Form::whole, 1, first};
  char32_t code = first & (0x7Fu >> lead.bytes);
  for (std::size_t i = 1; i < lead.bytes; ++i) {
    if (i == text.size()) return {Utf8Form::cut, i, 0};
    const unsigned next = byte_at(text, i);
    const unsigned low = i == 1 ? lead.second_min : 0x80, high = i == 1 ? lead.second_max : 0xBF;
    if (next < low || next > high) return {Utf8Form::broken, i, 0};
    code = code << 6 | (next & 0x3F);
  }
  return {Utf8Form::whole, lead.bytes, code};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (step.form != Utf8Form::whole) return false;
    text.remove_prefix(step.bytes);
  }
  return true;
}

void append_utf8(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    out += step.form == Utf8Form::whole ? text.substr(0, step.bytes) : kReplacement;
    text.remove_prefix(step.bytes);
  }
}

void append_code(char32_t code, std::string& out) {
  const auto add = [&](char32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

}  // namespace satchel::runtime
