#include "app/store_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace satchel::app {
namespace {

constexpr std::size_t kKeyBytesMax = 1024;

void say(int terminal, std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(terminal, text.data(), text.size());
}

std::string without_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

Result<std::string> read_key_file(const std::filesystem::path& file) {
  const auto failed = [&](const std::string& why) {
    return Error{ErrorKind::invalid, "LIBRARY_KEY",
                 "The key file \"" + file.string() + "\" " + why};
  };
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return failed("cannot be read.");
  struct stat facts = {};
  std::array<char, kKeyBytesMax + 1> bytes{};
  const bool is_known = fstat(opened, &facts) == 0;
  const ssize_t n = is_known ? read(opened, bytes.data(), bytes.size()) : -1;
  close(opened);
  if (n < 0) return failed("cannot be read.");
  if ((facts.st_mode & 077) != 0)
    return failed("can be read by other users. Run: chmod 600 \"" + file.string() + "\"");
  std::string key = without_end({bytes.data(), static_cast<std::size_t>(n)});
  if (key.empty() || static_cast<std::size_t>(n) > kKeyBytesMax)
    return failed("must hold a passphrase of at most 1024 bytes. Make one: openssl rand -hex 32");
  return key;
}

std::optional<std::string> ask_for_key(const std::string& question) {
  const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return std::nullopt;
  termios before{};
  std::string typed;
  if (tcgetattr(terminal, &before) == 0) {
    termios hidden = before;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    (void)tcsetattr(terminal, TCSAFLUSH, &hidden);
    say(terminal, question);
    std::array<char, kKeyBytesMax> bytes{};
    const ssize_t n = read(terminal, bytes.data(), bytes.size());  // a line; a signal ends it
    if (n > 0) typed = without_end({bytes.data(), static_cast<std::size_t>(n)});
    (void)tcsetattr(terminal, TCSAFLUSH, &before);
    say(terminal, "\n");
  }
  close(terminal);
  return typed.empty() ? std::nullopt : std::optional(typed);
}

}  // namespace satchel::app
