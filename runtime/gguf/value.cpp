#include "runtime/gguf/value.h"

#include <algorithm>
#include <cstdio>

#include "runtime/gguf/number.h"

namespace satchel::runtime {
namespace {

struct TypeRow {
  GgufType type;
  const char* name;
  std::size_t bytes;
};
constexpr TypeRow kTypes[] = {
    {GgufType::u8, "u8", 1},       {GgufType::i8, "i8", 1},        {GgufType::u16, "u16", 2},
    {GgufType::i16, "i16", 2},     {GgufType::u32, "u32", 4},      {GgufType::i32, "i32", 4},
    {GgufType::f32, "float32", 4}, {GgufType::boolean, "bool", 1}, {GgufType::string, "string", 0},
    {GgufType::array, "array", 0}, {GgufType::u64, "u64", 8},      {GgufType::i64, "i64", 8},
    {GgufType::f64, "float64", 8},
};

// Length of the UTF-8 character at the start of `text`, 0 if there is none (overlong forms and
// surrogates are none).
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return length;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

std::string scalar_text(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::boolean:
      return load_number<std::uint8_t>(at) != 0 ? "true" : "false";
    case GgufType::f32:
      return number_text(static_cast<double>(load_number<float>(at)));
    case GgufType::f64:
      return number_text(load_number<double>(at));
    case GgufType::u64:
      return std::to_string(load_number<std::uint64_t>(at));
    default:
      return std::to_string(load_integer(type, at).value_or(0));
  }
}

// The first few elements; strings and numbers only.
std::string array_text(const GgufValue& array) {
  constexpr std::size_t kShown = 4;
  constexpr std::size_t kStringShown = 24;
  const std::byte* at = array.bytes.data();
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(array.count, kShown); ++i) {
    if (i > 0) out += ", ";
    if (array.element == GgufType::array) {
      out += "[…]";
    } else if (array.element == GgufType::string) {
      const auto length = static_cast<std::size_t>(load_number<std::uint64_t>(at));
      out += quoted({reinterpret_cast<const char*>(at) + 8, length}, kStringShown);
      at += 8 + length;
    } else {
      out += scalar_text(array.element, at);
      at += gguf_fixed_bytes(array.element);
    }
  }
  if (array.count > kShown) out += ", …";
  return out + "] (" + std::to_string(array.count) + " " + gguf_type_name(array.element) + ")";
}

}  // namespace

std::optional<GgufType> gguf_type_of(std::uint32_t id) {
  for (const TypeRow& row : kTypes)
    if (static_cast<std::uint32_t>(row.type) == id) return row.type;
  return std::nullopt;
}

const char* gguf_type_name(GgufType type) {
  return kTypes[static_cast<std::uint32_t>(type)].name;
}

std::size_t gguf_fixed_bytes(GgufType type) {
  return kTypes[static_cast<std::uint32_t>(type)].bytes;
}

std::string type_text(const GgufValue& value) {
  if (value.type != GgufType::array) return gguf_type_name(value.type);
  return std::string("array of ") + gguf_type_name(value.element);
}

std::string describe(const GgufValue& value) {
  if (value.type == GgufType::array) return array_text(value);
  if (value.type == GgufType::string)
    return quoted({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
  return scalar_text(value.type, value.bytes.data());
}

std::string quoted(std::string_view text, std::size_t bytes_max) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool control = length == 0 || first < 0x20 || first == 0x7f ||
                         text.substr(0, 2) == "\xc2\x80" ||
                         (first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", first);
    const std::string_view shown = first == '\n' ? std::string_view("\\n")
                                   : control     ? std::string_view(escaped)
                                                 : text.substr(0, length);
    if (out.size() - 1 + shown.size() > bytes_max) return out + "…\"";
    out += shown;
    text.remove_prefix(std::max<std::size_t>(control ? 1 : length, 1));
  }
  return out + "\"";
}

}  // namespace satchel::runtime
