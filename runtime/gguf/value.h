// GgufValue: a view of one metadata value in the file. Nothing is copied or converted in advance.
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

// Size of a value of a fixed-size type; 0 for strings and arrays.
std::size_t gguf_fixed_bytes(GgufType type);

// "u32", "array of string".
std::string type_text(const GgufValue& value);

// A short text for people: 32, 1e-05, true, "llama", ["<s>", "</s>", …] (1024 string).
//   needs   a value of an opened file, whose lengths were checked
std::string describe(const GgufValue& value);

// Quotes untrusted text for display: escapes control characters and invalid UTF-8, and truncates at
// a character after at most `bytes_max` bytes.
std::string quoted(std::string_view text, std::size_t bytes_max = 64);

}  // namespace satchel::runtime
