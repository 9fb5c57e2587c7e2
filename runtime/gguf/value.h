// GgufValue: one metadata value as it lies in the file; a view, nothing is copied or converted
// until asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace satchel::runtime {

enum class GgufType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;  // of an array
  std::size_t count = 1;            // elements of an array, else 1
  std::span<const std::byte>
      bytes;  // a number's bytes, a string's characters, an array's elements with their lengths
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

std::optional<GgufType> gguf_type_of(std::uint32_t id);
const char* gguf_type_name(GgufType type);

// Bytes of one value of a type with a fixed size; 0 for strings and arrays.
std::size_t gguf_fixed_bytes(GgufType type);

// "u32", "array of string".
std::string type_text(const GgufValue& value);

// A short text for people: 32, 1e-05, true, "llama", ["<s>", "</s>", …] (1024 string).
//   needs   value comes from an opened file, so that its lengths were checked
std::string describe(const GgufValue& value);

// Text from outside between quotation marks, made safe to show: control characters and what is no
// UTF-8 escaped, at most `bytes_max` bytes of it, cut at a character.
std::string quoted(std::string_view text, std::size_t bytes_max = 64);

}  // namespace satchel::runtime
