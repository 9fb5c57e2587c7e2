// Sizes, counts and times as text for people: "612 bytes", "8.5 MB"; "8,192"; "0.21 s". The same
// in every locale, also where a host has set another.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>

namespace satchel {

// "0.97".
inline std::string fixed_text(double value, int digits) {
  std::array<char, 64> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, digits);
  return error == std::errc() ? std::string(text.data(), end) : "?";
}

// Decimal units; one digit after the point from kB up.
inline std::string size_text(std::size_t bytes) {
  static constexpr std::array kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes == 1) return "1 byte";
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fixed_text(value, 1) + ' ' + kUnits[unit];
}

// "4.2 ms", "0.21 s", "31.0 s", "3 min 5 s".
inline std::string duration_text(double ms) {
  if (ms < 100) return fixed_text(ms, ms < 10 ? 1 : 0) + " ms";
  if (ms < 60'000) return fixed_text(ms / 1000, ms < 10'000 ? 2 : 1) + " s";
  const auto seconds = static_cast<std::size_t>(ms / 1000);
  return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

// Digit by digit, because g++ 12 warns about insert() (false overlap, GCC bug 105651).
inline std::string count_text(std::size_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace satchel
