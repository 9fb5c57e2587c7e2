#include "unit/runtime/schema_oracle.h"

#include <algorithm>
#include <cmath>
#include <regex>

namespace satchel::test {
namespace {

using Json = nlohmann::json;

bool is_type(const Json& value, const std::string& type) {
  if (type == "integer")
    return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

std::string check_object(const Json& value, const Json& schema, const Json& root) {
  for (const Json& name : schema.value("required", Json::array()))
    if (!value.contains(name.get<std::string>())) return "lacks " + name.get<std::string>();
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, one] : value.items()) {
    const Json rule = properties.contains(name) ? properties[name]
                                                : schema.value("additionalProperties", Json(true));
    if (const std::string why = why_not(one, rule, root); !why.empty()) return name + ": " + why;
  }
  return "";
}

std::string check_array(const Json& value, const Json& schema, const Json& root) {
  if (value.size() < schema.value("minItems", std::size_t{0})) return "too few items";
  if (value.size() > schema.value("maxItems", value.size())) return "too many items";
  const Json first = schema.value("prefixItems", Json::array());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Json rule = i < first.size() ? first[i] : schema.value("items", Json(true));
    if (const std::string why = why_not(value[i], rule, root); !why.empty())
      return std::to_string(i) + ": " + why;
  }
  return "";
}

// One element a character, for the standard's patterns.
std::wstring wide(const std::string& text) {
  std::wstring out;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    wchar_t code = n == 1 ? first : first & (0x7f >> n);
    for (std::size_t k = 1; k < n; ++k)
      code = static_cast<wchar_t>(code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f));
    out += code;
    i += n;
  }
  return out;
}

std::string check_string(const Json& value, const Json& schema) {
  const auto text = value.get<std::string>();
  const auto n = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  if (n < schema.value("minLength", std::size_t{0})) return "too short";
  if (n > schema.value("maxLength", n)) return "too long";
  if (schema.contains("pattern") &&
      !std::regex_search(wide(text), std::wregex(wide(schema["pattern"].get<std::string>()))))
    return "not of the pattern: " + text;
  return "";
}

std::string check_number(const Json& value, const Json& schema) {
  const auto number = value.get<double>();
  if (number < schema.value("minimum", number)) return "too small";
  if (number > schema.value("maximum", number)) return "too large";
  if (schema.contains("exclusiveMinimum") && number <= schema["exclusiveMinimum"].get<double>())
    return "at the lower bound";
  if (schema.contains("exclusiveMaximum") && number >= schema["exclusiveMaximum"].get<double>())
    return "at the upper bound";
  return "";
}

std::string check_choices(const Json& value, const Json& schema, const Json& root) {
  for (const char* name : {"anyOf", "oneOf", "allOf"}) {
    if (!schema.contains(name)) continue;
    const Json& list = schema[name];
    const auto n = static_cast<std::size_t>(std::ranges::count_if(
        list, [&](const Json& one) { return why_not(value, one, root).empty(); }));
    const std::string kind = name;
    if (kind == "anyOf" ? n == 0 : kind == "oneOf" ? n != 1 : n != list.size())
      return kind + " of " + std::to_string(n);
  }
  return "";
}

}  // namespace

std::string why_not(const Json& value, const Json& schema, const Json& root) {
  if (schema.is_boolean()) return schema.get<bool>() ? "" : "false";
  if (schema.contains("$ref"))
    return why_not(value, root[Json::json_pointer(schema["$ref"].get<std::string>().substr(1))],
                   root);
  if (schema.contains("const") && value != schema["const"]) return "not the constant";
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
    return "none of enum";
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    if (std::ranges::none_of(
            types, [&](const Json& type) { return is_type(value, type.get<std::string>()); }))
      return "not of type " + types.dump();
  }
  if (std::string why = check_choices(value, schema, root); !why.empty()) return why;
  if (value.is_object()) return check_object(value, schema, root);
  if (value.is_array()) return check_array(value, schema, root);
  if (value.is_string()) return check_string(value, schema);
  return value.is_number() ? check_number(value, schema) : "";
}

}  // namespace satchel::test
