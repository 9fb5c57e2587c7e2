#include "runtime/episodes/part_title.h"

#include <charconv>

namespace satchel::runtime {
namespace {

constexpr std::string_view kBefore = " (part ", kBetween = " of ", kBehind = ")";

// Takes a number from the front; 0: there is none.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string part_title(const PartTitle& part) {
  std::string title(part.document);
  if (part.of <= 1) return title;
  return title.append(kBefore)
      .append(std::to_string(part.number))
      .append(kBetween)
      .append(std::to_string(part.of))
      .append(kBehind);
}

std::optional<PartTitle> read_part_title(std::string_view title) {
  const std::size_t at = title.rfind(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  PartTitle part{.document = title.substr(0, at)};
  std::string_view rest = title.substr(at + kBefore.size());
  part.number = take_number(rest);
  if (!rest.starts_with(kBetween)) return std::nullopt;
  rest.remove_prefix(kBetween.size());
  part.of = take_number(rest);
  const bool is_part = rest == kBehind && part.of > 1 && 0 < part.number && part.number <= part.of;
  return is_part ? std::optional(part) : std::nullopt;
}

}  // namespace satchel::runtime
