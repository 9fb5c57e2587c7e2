#include "runtime/chat/chat_title.h"

#include <ctime>

namespace satchel::runtime {
namespace {

constexpr std::size_t kTitleMax = 60;  // characters; chosen: what a list of chats has room for
constexpr std::string_view kBlanks = " \t\r\v\f";

std::string first_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\v\f\n");
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, text.find('\n', begin) - begin);
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    if (!line.empty() && end > 0) line += ' ';
    line += text.substr(0, end);
    const std::size_t next = text.find_first_not_of(kBlanks, end);
    text = next == std::string_view::npos ? std::string_view() : text.substr(next);
  }
  return line;
}

// Of the character number `n` in UTF-8; where there are fewer, the end.
std::size_t byte_at(std::string_view text, std::size_t n) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0u) != 0x80u;
    if (begins && n-- == 0) return i;
  }
  return text.size();
}

}  // namespace

std::string title_from(std::string_view text) {
  const std::string line = first_line(text);
  const std::size_t most = byte_at(line, kTitleMax);
  if (most == line.size()) return line;
  const std::size_t blank = line.rfind(' ', most);
  const bool cuts_at_word = blank != std::string::npos && blank > byte_at(line, kTitleMax / 2);
  return line.substr(0, cuts_at_word ? blank : most) + "…";
}

std::string name_by_date(std::int64_t wall_ms) {
  const std::time_t now = wall_ms / 1000;
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace satchel::runtime
