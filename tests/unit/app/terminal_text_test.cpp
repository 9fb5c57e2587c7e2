// Text of others on a terminal: it is shown, and commands nothing.
#include "app/cli/terminal_text.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "app/cli/console.h"

namespace satchel::app {
namespace {

// Sets the clipboard of many terminals.
constexpr std::string_view kEscape = "\x1b]52;c;cm0gLXJmIH4=\x07";

TEST(TerminalText, words_lines_and_tabs_stay_as_they_are) {
  for (const std::string_view text :
       {"", "Hello\n\tworld", "Grüße, 你好, שלום, 👩‍👩‍👧", "a\u00a0b"})
    EXPECT_EQ(terminal_text(text), text);
}

TEST(TerminalText, what_a_terminal_would_obey_is_written_out) {
  EXPECT_EQ(terminal_text(kEscape), "\\x1b]52;c;cm0gLXJmIH4=\\x07");
  EXPECT_EQ(terminal_text("a\rb\bc\x7f"), "a\\x0db\\x08c\\x7f");
  EXPECT_EQ(terminal_text("one\r\ntwo\r\n"), "one\ntwo\n");
  EXPECT_EQ(terminal_text("\u009b31m"), "\\x9b31m");  // CSI in one character
  EXPECT_EQ(terminal_text("evil\u202egpj.exe\u2066x\u2069"), "evil\\u202egpj.exe\\u2066x\\u2069");
  EXPECT_EQ(terminal_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(terminal_text("\x9b"
                          "31m\xe4"),
            "\ufffd31m\ufffd");  // not UTF-8
}

// What a console writes where standard output and error are a terminal.
std::string on_a_terminal(void (*work)(Console&)) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    Console console(false, false);
    work(console);
    ::_exit(0);
  }
  std::string all;
  std::array<char, 256> some{};
  for (ssize_t n = 0; (n = ::read(terminal, some.data(), some.size())) > 0;)
    all.append(some.data(), static_cast<std::size_t>(n));
  (void)::close(terminal);
  (void)::waitpid(child, nullptr, 0);
  return all;
}

TEST(TerminalText, is_all_that_a_console_writes_to_a_terminal) {
  const std::string all = on_a_terminal([](Console& console) {
    console.data(kEscape);
    console.prose(kEscape);
    console.note(kEscape);
    console.reply(kEscape);
    console.warning(kEscape);
    console.aside(kEscape);
    console.status(kEscape);
    (void)console.fail({ErrorKind::invalid, "PARAM", std::string(kEscape)});
  });
  EXPECT_EQ(all.find("\x1b]"), std::string::npos) << testing::PrintToString(all);
  std::size_t n_shown = 0;
  for (std::size_t at = 0; (at = all.find("\\x1b]52;c;", at)) != std::string::npos; ++at) ++n_shown;
  EXPECT_EQ(n_shown, 8u) << testing::PrintToString(all);
}

}  // namespace
}  // namespace satchel::app
