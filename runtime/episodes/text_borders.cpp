#include "runtime/episodes/text_borders.h"

#include <algorithm>
#include <array>

#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {
namespace {

constexpr std::array<std::string_view, 4> kMarks = {".", "!", "?", "…"};
constexpr std::array<std::string_view, 3> kWideMarks = {"。", "！", "？"};
constexpr std::array<std::string_view, 9> kClosers = {"\"", "'", ")",  "]", "”",
                                                      "’",  "»", "」", "』"};

bool is_white(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}
bool goes_on_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u;
}

// A character, or the bytes that U+FFFD stands for together, begin at most three bytes before.
bool splits_character(std::string_view text, std::size_t at) {
  if (!goes_on_character(text[at])) return false;
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, at); ++back)
    if (!goes_on_character(text[at - back])) return utf8_step(text.substr(at - back)).bytes > back;
  return false;
}

bool ends_blank_line(std::string_view before) {
  before.remove_suffix(before.ends_with("\r\n") ? 2 : 1);
  while (before.ends_with(' ') || before.ends_with('\t')) before.remove_suffix(1);
  return before.empty() || is_line_end(before.back());
}

bool ends_sentence(std::string_view before, std::string_view behind) {
  const auto is_end = [&](std::string_view mark) { return before.ends_with(mark); };
  for (int i = 0; i < 2; ++i) {  // ." and .")
    const auto closer = std::ranges::find_if(kClosers, is_end);
    if (closer != kClosers.end()) before.remove_suffix(closer->size());
  }
  const bool before_closer = std::ranges::any_of(
      kClosers, [&](std::string_view closer) { return behind.starts_with(closer); });
  return (std::ranges::any_of(kMarks, is_end) && is_white(behind.front())) ||
         (std::ranges::any_of(kWideMarks, is_end) && !before_closer);
}

std::optional<std::size_t> nearest_border(std::string_view text, IndexRange where, std::size_t goal,
                                          Border kind) {
  const std::size_t below = goal - where.begin, above = where.end - 1 - goal;
  for (std::size_t distance = 0; distance <= std::max(below, above); ++distance) {
    if (distance <= below && is_border(text, goal - distance, kind)) return goal - distance;
    if (distance <= above && is_border(text, goal + distance, kind)) return goal + distance;
  }
  return std::nullopt;
}

}  // namespace

bool is_border(std::string_view text, std::size_t at, Border kind) {
  const std::string_view before = text.substr(0, at), behind = text.substr(at);
  if (splits_character(text, at) || (before.back() == '\r' && behind.front() == '\n')) return false;
  switch (kind) {
    case Border::paragraph:  // behind the last of several blank lines
      return is_line_end(before.back()) && ends_blank_line(before) && !is_line_end(behind.front());
    case Border::line:
      return is_line_end(before.back());
    case Border::sentence:
      return ends_sentence(before, behind);
    case Border::space:
      return is_white(behind.front());
    case Border::character:
      return true;
  }
  return false;
}

std::optional<std::size_t> nearest_border(std::string_view text, IndexRange where,
                                          std::size_t goal) {
  for (const Border kind :
       {Border::paragraph, Border::line, Border::sentence, Border::space, Border::character})
    if (const auto found = nearest_border(text, where, goal, kind)) return found;
  return std::nullopt;
}

}  // namespace satchel::runtime
