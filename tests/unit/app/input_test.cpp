// Messages of one line and of several, as they are typed or piped.
#include "app/cli/input.h"

#include <gtest/gtest.h>

#include <vector>

namespace satchel::app {
namespace {

// Reads from these lines; `end` is what comes behind them.
Input read_from(std::vector<std::string> lines, bool from_terminal = false, Line end = Line::end) {
  return read_input(from_terminal, [&, at = std::size_t{0}](std::string& line) mutable {
    line = at < lines.size() ? lines[at] : "";
    return at++ < lines.size() ? Line::text : end;
  });
}

TEST(Input, a_line_is_a_message) {
  EXPECT_EQ(read_from({"One.", "Two."}).text, "One.");
  EXPECT_EQ(read_from({"She said \"\"\"no\"\"\"."}).text, "She said \"\"\"no\"\"\".");
  EXPECT_EQ(read_from({}).line, Line::end);
}

TEST(Input, lines_between_quotes_are_one_message) {
  EXPECT_EQ(read_from({"\"\"\"", "One.", "", "Two.", "\"\"\"", "Three."}).text, "One.\n\nTwo.");
  EXPECT_EQ(read_from({"\"\"\"One.", "Two.\"\"\""}).text, "One.\nTwo.");
  EXPECT_EQ(read_from({"\"\"\"One.\"\"\""}).text, "One.");
  EXPECT_EQ(read_from({"\"\"\"", "\"\"\""}).text, "");
  const Input open = read_from({"\"\"\"One.", "Two."});
  EXPECT_EQ(open.line, Line::text);
  EXPECT_EQ(open.text, "One.\nTwo.") << "the end closes it";
  EXPECT_TRUE(open.was_left_open);
  EXPECT_EQ(read_from({"\"\"\"", "One."}).text, "One.") << "the same as closed";
  EXPECT_FALSE(read_from({"\"\"\"", "One.", "\"\"\""}).was_left_open);
  EXPECT_EQ(read_from({"\"\"\"One."}, true, Line::interrupted).line, Line::interrupted);
}

TEST(Input, a_line_with_line_ends_was_pasted_and_is_no_command) {
  const Input pasted = read_from({"/quit\nTwo."});
  EXPECT_TRUE(pasted.is_quoted);
  EXPECT_EQ(pasted.text, "/quit\nTwo.");
  EXPECT_EQ(read_from({"\"\"\"One.\nTwo."}).text, "\"\"\"One.\nTwo.") << "as it was pasted";
  const Input line = read_from({"/quit\n"});
  EXPECT_FALSE(line.is_quoted);
  EXPECT_EQ(line.text, "/quit");
}

TEST(Input, what_is_quoted_is_told_from_a_command) {
  EXPECT_FALSE(read_from({"/quit"}).is_quoted);
  const Input quoted = read_from({"\"\"\"", "/quit", "\"\"\""});
  EXPECT_TRUE(quoted.is_quoted);
  EXPECT_EQ(quoted.text, "/quit");
  EXPECT_TRUE(read_from({"\"\"\"/help"}).is_quoted) << "the end closes it";
}

TEST(Input, a_line_that_the_terminal_cut_is_told) {
  EXPECT_FALSE(read_from({std::string(4094, 'x')}, true).was_cut);
  EXPECT_TRUE(read_from({std::string(4095, 'x')}, true).was_cut);
  EXPECT_TRUE(read_from({"\"\"\"", std::string(4095, 'x'), "\"\"\""}, true).was_cut);
  EXPECT_FALSE(read_from({std::string(9000, 'x')}, false).was_cut) << "a pipe gives all";
}

}  // namespace
}  // namespace satchel::app
