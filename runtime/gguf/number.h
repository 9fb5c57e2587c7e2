// Reads numbers of any GGUF type. The caller has checked that the bytes exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/base/load_number.h"
#include "runtime/gguf/value.h"

namespace satchel::runtime {

// An integer of any width; nothing if the type is not an integer or the value exceeds int64.
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
