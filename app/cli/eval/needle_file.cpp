#include "app/cli/eval/needle_file.h"

#include <algorithm>
#include <utility>

#include "app/cli/eval/json_lines.h"

namespace satchel::app {
namespace {

Result<Needle> needle_of(const Json& json) {
  if (!json.is_object()) return wrong_line("is no JSON object");
  Needle needle;
  SATCHEL_TRY_ASSIGN(needle.ask, text_at(json, "ask", Needed::yes));
  SATCHEL_TRY_ASSIGN(needle.value, text_at(json, "value", Needed::yes));
  return needle;
}

Result<NeedleContext> context_of(const Json& json) {
  NeedleContext context;
  SATCHEL_TRY_ASSIGN(context.text, text_at(json, "context", Needed::yes));
  SATCHEL_TRY_ASSIGN(const Json* questions, array_at(json, "questions"));
  for (const Json& each : *questions) {
    Result<Needle> needle = needle_of(each);
    if (!needle.ok())
      return wrong_line("question " + std::to_string(context.needles.size() + 1) + " " +
                        needle.error().message);
    context.needles.push_back(std::move(needle).value());
  }
  if (context.needles.empty()) return wrong_line("asks nothing");
  return context;
}

std::string_view without_blanks_before(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// Bytes above ASCII count as letters.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Result<std::vector<NeedleContext>> read_needle_file(const std::string& path) {
  std::vector<NeedleContext> all;
  SATCHEL_TRY(for_each_line(path, [&](const Json& json) -> Result<void> {
    SATCHEL_TRY_ASSIGN(all.emplace_back(), context_of(json));
    return {};
  }));
  if (all.empty()) return wrong_line(path + " asks nothing.");
  return all;
}

bool says_first(std::string_view said, std::string_view value) {
  said = without_blanks_before(said);
  if (!said.starts_with(value)) return false;
  return said.size() == value.size() || !is_letter(said[value.size()]);
}

bool said_enough(std::string_view said, std::string_view value) {
  said = without_blanks_before(said);
  return said.size() > value.size() &&
         !std::all_of(said.begin() + std::ptrdiff_t(value.size()), said.end(), is_letter);
}

}  // namespace satchel::app
