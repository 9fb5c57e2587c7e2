#include "app/eval/commands/needle_file.h"

#include <utility>

#include "app/eval/commands/json_lines.h"

namespace satchel::app {
namespace {

// A text, or several, where `many` allows it.
Result<std::vector<std::string>> texts_at(const Json& object, const char* one, const char* many) {
  const auto found = object.find(many);
  if (found == object.end() || !found->is_array()) {
    SATCHEL_TRY_ASSIGN(std::string text, text_at(object, one));
    return std::vector<std::string>{std::move(text)};
  }
  std::vector<std::string> texts;
  for (const Json& each : *found) {
    if (!each.is_string() || each.get_ref<const std::string&>().empty())
      return wrong_line("has a \"" + std::string(many) + "\" with something that is not text");
    texts.push_back(each.get<std::string>());
  }
  if (texts.empty()) return wrong_line("has an empty \"" + std::string(many) + "\"");
  return texts;
}

Result<eval::Needle> needle_of(const Json& json) {
  if (!json.is_object()) return wrong_line("is not a JSON object");
  eval::Needle needle;
  SATCHEL_TRY_ASSIGN(needle.ask, text_at(json, "ask"));
  SATCHEL_TRY_ASSIGN(needle.values, texts_at(json, "value", "values"));
  return needle;
}

Result<eval::NeedleContext> context_of(const Json& json) {
  eval::NeedleContext context;
  SATCHEL_TRY_ASSIGN(context.parts, texts_at(json, "context", "context"));
  SATCHEL_TRY_ASSIGN(context.ability, optional_text_at(json, "ability"));
  SATCHEL_TRY_ASSIGN(const Json* questions, array_at(json, "questions"));
  for (const Json& each : *questions) {
    Result<eval::Needle> needle = needle_of(each);
    if (!needle.ok())
      return wrong_line("question " + std::to_string(context.needles.size() + 1) + " " +
                        needle.error().message);
    context.needles.push_back(std::move(needle).value());
  }
  if (context.needles.empty()) return wrong_line("has no questions");
  return context;
}

}  // namespace

Result<std::vector<eval::NeedleContext>> read_needle_file(const std::string& path) {
  std::vector<eval::NeedleContext> all;
  SATCHEL_TRY(for_each_line(path, [&](const Json& json) -> Result<void> {
    SATCHEL_TRY_ASSIGN(all.emplace_back(), context_of(json));
    return {};
  }));
  if (all.empty()) return wrong_line(path + " contains no questions.");
  return all;
}

}  // namespace satchel::app
