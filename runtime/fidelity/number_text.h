// Numbers separated by spaces in a line of text, the format of this folder's saved measurements.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace satchel::runtime {

template <class Number>
void add_number(std::string& line, Number number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  if (!line.empty()) line += ' ';
  line.append(digits, end);
}

// Removes a number and the space after it from the front. False if there is no number, or something
// else follows it.
template <class Number>
bool take_number(std::string_view& line, Number& number) {
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (code != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty()) return true;
  if (line.front() != ' ') return false;
  line.remove_prefix(1);
  return !line.empty();
}

template <class... Numbers>
std::string line_of(const Numbers&... numbers) {
  std::string line;
  (add_number(line, numbers), ...);
  return line;
}
// Whether the line consists of exactly these numbers.
template <class... Numbers>
bool take_line(std::string_view line, Numbers&... numbers) {
  return (take_number(line, numbers) && ...) && line.empty();
}

}  // namespace satchel::runtime
