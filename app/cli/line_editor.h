// LineEditor: a line that a person types at a terminal. The terminal marks what is pasted, so that
// line ends in it are text, and only Enter sends.
//   keys  Enter; Backspace; Ctrl-W: a word; Ctrl-U: the line; Ctrl-D in an empty line: the end.
//         Arrows and other control sequences do nothing
#pragma once

#include <termios.h>

#include <string>

#include "app/cli/input.h"

namespace satchel::app {

class LineEditor {
 public:
  // Takes a byte of the terminal; what the terminal shall show of it.
  std::string take(char byte);
  bool is_sent() const { return is_sent_; }
  bool is_end() const { return is_end_; }
  const std::string& text() const { return text_; }

 private:
  void take_sequence(char byte);
  std::string cut(std::size_t n_bytes);  // down to so many

  std::string text_;
  std::string sequence_;  // the control sequence that has begun
  bool is_pasting_ = false, is_sent_ = false, is_end_ = false;
};

// Has the terminal give every byte at once, show none by itself, and mark what is pasted. Nothing
// else may read it: what was typed ahead would be in its buffer.
class TypingMode {
 public:
  TypingMode();
  TypingMode(TypingMode&&) = delete;
  ~TypingMode();

 private:
  const bool marks_pastes_;
  termios before_{};
};

// Under TypingMode; with line ends where they were pasted.
Line read_typed(std::string& line);

}  // namespace satchel::app
