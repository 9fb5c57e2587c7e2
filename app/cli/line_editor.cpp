#include "app/cli/line_editor.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace satchel::app {
namespace {

// Bracketed paste, as xterm has it.
constexpr std::string_view kMarkPastes = "\x1b[?2004h", kMarkNone = "\x1b[?2004l";
constexpr std::string_view kPasteBegins = "\x1b[200~", kPasteEnds = "\x1b[201~";
constexpr char kCtrlD = 0x04, kCtrlU = 0x15, kCtrlW = 0x17, kEscape = 0x1b, kDelete = 0x7f;

void show(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u;
}

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20u;
}

bool understands_marks() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && terminal != std::string_view("dumb");
}

}  // namespace

std::string LineEditor::take(char byte) {
  if (!sequence_.empty() || byte == kEscape) {
    take_sequence(byte);
    return "";
  }
  const std::size_t begin = text_.rfind('\n') + 1;  // a line that was left is not erased
  std::size_t end = text_.size();
  switch (byte) {
    case '\n':
      is_sent_ = !is_pasting_;
      if (is_pasting_) text_ += byte;
      return "\n";
    case kDelete:
    case '\b':
      while (end > begin && is_inside_character(text_[end - 1])) --end;
      return cut(end > begin ? end - 1 : begin);
    case kCtrlW:
      while (end > begin && text_[end - 1] == ' ') --end;
      while (end > begin && text_[end - 1] != ' ') --end;
      return cut(end);
    case kCtrlU:
      return cut(begin);
    case kCtrlD:
      is_end_ = text_.empty();
      return "";
    case '\t':
      text_ += byte;
      return " ";  // as wide as it is erased
    default:
      if (is_control(byte)) return "";
      text_ += byte;
      return std::string(1, byte);
  }
}

// ESC and a byte; ESC O and a byte; ESC [ and all up to a letter or "~".
void LineEditor::take_sequence(char byte) {
  sequence_ += byte;
  const bool has_begun_only =
      sequence_.size() == 1 || (sequence_.size() == 2 && (byte == '[' || byte == 'O'));
  if (has_begun_only || byte < '@') return;
  if (sequence_ == kPasteBegins) is_pasting_ = true;
  if (sequence_ == kPasteEnds) is_pasting_ = false;
  sequence_.clear();
}

std::string LineEditor::cut(std::size_t n_bytes) {
  std::string shown;
  for (std::size_t at = n_bytes; at < text_.size(); ++at)
    if (!is_inside_character(text_[at])) shown += "\b \b";
  text_.resize(n_bytes);
  return shown;
}

TypingMode::TypingMode() : marks_pastes_(understands_marks()) {
  tcgetattr(STDIN_FILENO, &before_);
  termios typing = before_;
  typing.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &typing);
  if (marks_pastes_) show(kMarkPastes);
}

TypingMode::~TypingMode() {
  if (marks_pastes_) show(kMarkNone);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

Line read_typed(std::string& line) {
  LineEditor editor;
  while (!editor.is_sent()) {
    char byte = 0;
    const ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) return Line::interrupted;
    if (n <= 0) return Line::end;
    show(editor.take(byte));
    if (editor.is_end()) return Line::end;
  }
  line = editor.text();
  return Line::text;
}

}  // namespace satchel::app
