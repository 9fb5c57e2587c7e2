// Figures as people read them: "612 bytes", "8.5 KiB"; "8,192".
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

namespace satchel::kvcache {

inline std::string size_text(std::size_t bytes) {
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

inline std::string count_text(std::size_t count) {
  std::string text = std::to_string(count);
  for (std::size_t from_end = 3; from_end < text.size(); from_end += 4)
    text.insert(text.size() - from_end, ",");
  return text;
}

}  // namespace satchel::kvcache
