// An input of two texts and a byte that says what they are.
//   form   the byte; 2 bytes: the size of the first text, low byte first; both texts
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "target.h"

namespace satchel::fuzz {

struct TwoTexts {
  std::uint8_t how = 0;
  std::string_view first, second;
};

inline Input input_of(std::uint8_t how, std::string_view first, std::string_view second) {
  Input input = {how, static_cast<std::uint8_t>(first.size() & 0xff),
                 static_cast<std::uint8_t>(first.size() >> 8)};
  input.insert(input.end(), first.begin(), first.end());
  input.insert(input.end(), second.begin(), second.end());
  return input;
}

// Of any bytes, which outlive it; none: they are too few.
inline std::optional<TwoTexts> two_texts_of(const std::uint8_t* bytes, std::size_t size) {
  if (size < 3) return std::nullopt;
  const std::string_view all(reinterpret_cast<const char*>(bytes), size);
  const std::size_t n = std::min<std::size_t>(size - 3, std::size_t{bytes[1]} | bytes[2] << 8);
  return TwoTexts{bytes[0], all.substr(3, n), all.substr(3 + n)};
}

}  // namespace satchel::fuzz
