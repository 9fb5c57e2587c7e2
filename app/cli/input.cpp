#include "app/cli/input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace satchel::app {

Line read_line(std::string& line) {
  char* buffer = nullptr;
  std::size_t capacity = 0;
  errno = 0;
  const ssize_t n = ::getline(&buffer, &capacity, stdin);
  const int failure = errno;
  line.assign(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
  std::free(buffer);
  if (n < 0) {
    std::clearerr(stdin);
    return failure == EINTR ? Line::interrupted : Line::end;
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return Line::text;
}

Input read_input(bool from_terminal, const std::function<Line(std::string& line)>& next_line) {
  constexpr std::string_view kQuotes = "\"\"\"";
  Input input;
  const auto next = [&](std::string& line) {
    const Line got = next_line(line);
    input.was_cut |= from_terminal && line.size() >= kTerminalLineMax;
    return got;
  };
  input.line = next(input.text);
  while (input.text.ends_with('\n')) input.text.pop_back();
  input.is_quoted = input.text.find('\n') != std::string::npos;
  if (input.is_quoted || !input.text.starts_with(kQuotes)) return input;
  input.is_quoted = true;
  input.text.erase(0, kQuotes.size());
  for (std::string line; !input.was_left_open && !input.text.ends_with(kQuotes);) {
    const Line got = next(line);
    if (got == Line::interrupted) return {.line = got};
    input.was_left_open = got == Line::end;
    if (!input.was_left_open) input.text += '\n' + line;
  }
  if (!input.was_left_open) input.text.resize(input.text.size() - kQuotes.size());
  if (input.text.starts_with('\n')) input.text.erase(0, 1);
  if (input.text.ends_with('\n')) input.text.pop_back();
  return input;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::optional<std::string_view> rest_of(std::string_view line, std::string_view word) {
  constexpr std::string_view kBlanks = " \t";
  if (!line.starts_with(word)) return std::nullopt;
  std::string_view rest = line.substr(word.size());
  if (!rest.empty() && kBlanks.find(rest.front()) == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  return rest.substr(0, rest.find_last_not_of(kBlanks) + 1);
}

}  // namespace satchel::app
