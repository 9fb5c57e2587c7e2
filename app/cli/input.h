// What a person types or a script pipes in: lines, and messages of one or several of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace satchel::app {

enum class Line { text, interrupted, end };

// Without its end. interrupted: by a signal.
Line read_line(std::string& line);

// A message: a line, or those between """ and """. The end of the input closes it too. A line with
// line ends in it was pasted and is a message as well.
//   is_quoted  of several lines: every word of it is the message's, and none a command
//   was_left_open  """ was not closed before the end of the input
//   was_cut  the terminal passed only the start of a line: it cuts lines at kTerminalLineMax bytes
struct Input {
  Line line = Line::end;
  std::string text = {};
  bool was_cut = false, is_quoted = false, was_left_open = false;
};
inline constexpr std::size_t kTerminalLineMax = 4095;  // N_TTY_BUF_SIZE of Linux, less one
Input read_input(bool from_terminal,
                 const std::function<Line(std::string& line)>& next_line = read_line);

// Whether there is no word in it.
bool is_blank(std::string_view text);

// What follows `word` in the line, blanks around it cut off; nothing: the line begins otherwise.
std::optional<std::string_view> rest_of(std::string_view line, std::string_view word);

}  // namespace satchel::app
