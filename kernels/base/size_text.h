// Sizes, counts and times as text for people: "612 bytes", "8.5 MB"; "8,192"; "0.21 s".
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

namespace satchel {

// Decimal units; one digit after the point from kB up.
inline std::string size_text(std::size_t bytes) {
  static constexpr std::array kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

// "4.2 ms", "0.21 s", "31.0 s", "3 min 5 s".
inline std::string duration_text(double ms) {
  const auto number = [](int digits, double value, const char* unit) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, unit);
    return std::string(text.data());
  };
  if (ms < 100) return number(ms < 10 ? 1 : 0, ms, "ms");
  if (ms < 60'000) return number(ms < 10'000 ? 2 : 1, ms / 1000, "s");
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
