#include "app/cli/text_table.h"

#include <algorithm>
#include <cmath>

#include "app/cli/console.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

// Code points: none of those that stand in our tables is wide or combines.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string aligned(const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - width(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i == 0 ? row[i] + blanks : blanks + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t kColumns = 96;
  std::string out, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      out += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return out + std::string(indent, ' ') + line + "\n";
}

std::string short_percent(double share) {
  const double percent = 100 * share;
  return fixed_text(percent, std::abs(percent - std::round(percent)) < 0.05 ? 0 : 1) + " %";
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  // Three digits that are not leading zeros, and none where it is small beyond interest.
  const int digits =
      size >= 100 ? 0 : std::min(6, 2 - static_cast<int>(std::floor(std::log10(size))));
  return fixed_text(value, digits);
}

}  // namespace satchel::app
