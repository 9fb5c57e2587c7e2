#include "runtime/chat/page_marks.h"

#include <charconv>

namespace satchel::runtime {
namespace {

constexpr std::string_view kBefore = "[Page ", kBehind = "]";

}  // namespace

std::string page_mark(std::size_t page) {
  return std::string(kBefore) + std::to_string(page) + std::string(kBehind);
}

std::optional<PageMark> next_page_mark(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(kBefore, from); at != text.npos;
       at = text.find(kBefore, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    std::size_t page = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + at + kBefore.size(), end, page);
    const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
    if (read.ec != std::errc() || page == 0 || !rest.starts_with(kBehind)) continue;
    const std::size_t behind = text.size() - rest.size() + kBehind.size();
    if (behind < text.size() && text[behind] != '\n') continue;
    return PageMark{{at, behind}, page};
  }
  return std::nullopt;
}

}  // namespace satchel::runtime
