// What keys and pastes make of a line, and what the terminal shows of them.
#include "app/cli/line_editor.h"

#include <gtest/gtest.h>

namespace satchel::app {
namespace {

struct Typed {
  std::string text, shown;
  bool is_sent, is_end;
};

Typed type(std::string_view bytes) {
  LineEditor editor;
  std::string shown;
  for (const char byte : bytes) shown += editor.take(byte);
  return {editor.text(), shown, editor.is_sent(), editor.is_end()};
}

TEST(LineEditor, sends_a_line_with_enter) {
  const Typed typed = type("Hello\n");
  EXPECT_EQ(typed.text, "Hello");
  EXPECT_EQ(typed.shown, "Hello\n");
  EXPECT_TRUE(typed.is_sent);
  EXPECT_FALSE(type("Hello").is_sent);
}

TEST(LineEditor, erases_characters_words_and_lines) {
  EXPECT_EQ(type("bex\x7fll").text, "bell");
  EXPECT_EQ(type("bex\x7f").shown, "bex\b \b");
  EXPECT_EQ(type("\xc3\xa4\x7f").text, "") << "both bytes";
  EXPECT_EQ(type("\xc3\xa4\x7f").shown, "\xc3\xa4\b \b") << "one column";
  EXPECT_EQ(type("two  bells \x17").text, "two  ");
  EXPECT_EQ(type("two bells\x15").text, "");
  EXPECT_EQ(type("\x7f\x17\x15").shown, "");
}

TEST(LineEditor, keeps_the_line_ends_of_a_paste_until_enter) {
  const Typed pasted = type("\x1b[200~One.\nTwo.\x1b[201~");
  EXPECT_EQ(pasted.text, "One.\nTwo.");
  EXPECT_EQ(pasted.shown, "One.\nTwo.");
  EXPECT_FALSE(pasted.is_sent);
  const Typed sent = type("See: \x1b[200~One.\nTwo.\x1b[201~ Why?\n");
  EXPECT_EQ(sent.text, "See: One.\nTwo. Why?");
  EXPECT_TRUE(sent.is_sent);
  EXPECT_EQ(type("\x1b[200~One.\nTwo.\x1b[201~\x15").text, "One.\n") << "what can be seen gone";
}

TEST(LineEditor, passes_over_arrows_and_other_keys) {
  const Typed typed = type("a\x1b[Db\x1b[1;5C\x1bOPc\x01");
  EXPECT_EQ(typed.text, "abc");
  EXPECT_EQ(typed.shown, "abc");
}

TEST(LineEditor, ends_with_ctrl_d_in_an_empty_line_only) {
  EXPECT_TRUE(type("\x04").is_end);
  EXPECT_FALSE(type("a\x04").is_end);
}

}  // namespace
}  // namespace satchel::app
