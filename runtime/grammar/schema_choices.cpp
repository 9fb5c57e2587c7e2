#include "runtime/grammar/schema_choices.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace satchel::runtime {
namespace {

using Json = OrderedJson;

std::optional<std::vector<Json>> constants_of(const Json& schema) {
  if (!schema.is_object()) return std::nullopt;
  if (schema.contains("const")) return std::vector<Json>{schema["const"]};
  if (!schema.contains("enum") || !schema["enum"].is_array()) return std::nullopt;
  return schema["enum"].get_ref<const Json::array_t&>();
}

// "integer" is among the numbers. None: any.
std::optional<std::set<std::string>> types_of(const Json& schema) {
  std::set<std::string> types;
  const auto add = [&](const Json& type) {
    if (type.is_string()) types.insert(type == "integer" ? "number" : type.get<std::string>());
  };
  if (schema.is_object() && schema.contains("type")) {
    if (schema["type"].is_array())
      for (const Json& type : schema["type"]) add(type);
    else
      add(schema["type"]);
  } else if (const auto constants = constants_of(schema)) {
    for (const Json& value : *constants)
      for (const char* type : {"object", "array", "string", "number", "boolean", "null"})
        if (is_of_type(value, type)) types.insert(type);
  }
  return types.empty() ? std::nullopt : std::optional(types);
}

template <class Items>
bool are_apart(const std::optional<Items>& a, const std::optional<Items>& b) {
  return a && b && std::ranges::none_of(*a, [&](const auto& one) {
           return std::ranges::find(*b, one) != b->end();
         });
}

bool is_required(const Json& schema, const std::string& name) {
  return schema.contains("required") && schema["required"].is_array() &&
         std::ranges::find(schema["required"], Json(name)) != schema["required"].end();
}

bool are_apart_by_a_property(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object() || !a.contains("properties") || !b.contains("properties") ||
      !a["properties"].is_object() || !b["properties"].is_object())
    return false;
  for (const auto& [name, value] : a["properties"].items())
    if (b["properties"].contains(name) && is_required(a, name) && is_required(b, name) &&
        are_apart(constants_of(value), constants_of(b["properties"][name])))
      return true;
  return false;
}

}  // namespace

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  return type == "boolean" ? value.is_boolean() : value.is_null();
}

bool exclude_one_another(const std::vector<const Json*>& schemas) {
  for (std::size_t i = 0; i < schemas.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const Json &a = *schemas[i], &b = *schemas[k];
      if (!are_apart(types_of(a), types_of(b)) && !are_apart(constants_of(a), constants_of(b)) &&
          !are_apart_by_a_property(a, b))
        return false;
    }
  return true;
}

}  // namespace satchel::runtime
