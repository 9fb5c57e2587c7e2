#include "app/eval/commands/json_lines.h"

#include <algorithm>
#include <utility>

namespace satchel::app {
namespace {

std::string quoted(const char* key) {
  return "\"" + std::string(key) + "\"";
}

Result<void> read_line(const Json& json, const std::function<Result<void>(const Json&)>& read) {
  if (!json.is_object()) return wrong_line("is not a JSON object");
  return read(json);
}

}  // namespace

Error wrong_line(std::string what) {
  return {ErrorKind::corrupt, "DOC_FORMAT", std::move(what)};
}

Result<std::string> text_at(const Json& object, const char* key) {
  if (!object.contains(key)) return wrong_line("has no " + quoted(key));
  SATCHEL_TRY_ASSIGN(std::string text, optional_text_at(object, key));
  if (text.empty()) return wrong_line("has an empty " + quoted(key));
  return text;
}

Result<std::string> optional_text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::string();
  if (!found->is_string()) return wrong_line("has a " + quoted(key) + " that is not text");
  return found->get<std::string>();
}

Result<const Json*> array_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return wrong_line("has no " + quoted(key));
  return &*found;
}

Result<void> for_each_line(const std::string& path,
                           const std::function<Result<void>(const Json&)>& read,
                           std::uintmax_t bytes_max) {
  SATCHEL_TRY_ASSIGN(const std::string lines, read_text_file(path, bytes_max));
  std::size_t number = 0;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    ++number;
    const Result<void> done =
        read_line(Json::parse(lines.substr(at, end - at), nullptr, false), read);
    if (!done.ok())
      return wrong_line(path + ":" + std::to_string(number) + ": " + done.error().message + ".");
    at = end + 1;
  }
  return {};
}

}  // namespace satchel::app
