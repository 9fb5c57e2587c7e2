// Little-endian numbers at any alignment, as they lie in a GGUF file. The caller has checked that
// the bytes are there.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "runtime/gguf/value.h"

static_assert(std::endian::native == std::endian::little,
              "GGUF numbers are read as they lie in the file");

namespace satchel::runtime {

template <class T>
T load_number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// An integer of any width, or nothing if the type is none or a u64 is beyond int64.
inline std::optional<std::int64_t> load_integer(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::u8:
      return load_number<std::uint8_t>(at);
    case GgufType::i8:
      return load_number<std::int8_t>(at);
    case GgufType::u16:
      return load_number<std::uint16_t>(at);
    case GgufType::i16:
      return load_number<std::int16_t>(at);
    case GgufType::u32:
      return load_number<std::uint32_t>(at);
    case GgufType::i32:
      return load_number<std::int32_t>(at);
    case GgufType::i64:
      return load_number<std::int64_t>(at);
    case GgufType::u64: {
      const auto value = load_number<std::uint64_t>(at);
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace satchel::runtime
