#include "runtime/tools/bare_values.h"

#include <algorithm>
#include <array>
#include <set>

#include "runtime/grammar/json_excess.h"
#include "runtime/grammar/json_schema.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;

// Which values a schema takes, roughly.
struct Kinds {
  bool string = false, null = false, others = false, is_plain = true;

  void add(const Kinds& more) {
    string = string || more.string;
    null = null || more.null;
    others = others || more.others;
    is_plain = is_plain && more.is_plain;
  }
  void add(std::string_view type) {
    string = string || type == "string";
    null = null || type == "null";
    others = others || (type != "string" && type != "null");
  }
};

Json::json_pointer pointer_of(const std::string& reference) {
  return Json::json_pointer(reference.substr(1));
}

// What a reference within the schema means; nullptr: nothing, or nothing that ends.
const Json* resolved(const Json& root, const Json& given) {
  const Json* at = &given;
  for (std::size_t n = 0; n < kJsonDepthMax; ++n) {
    if (!at->is_object() || !at->contains("$ref")) return at;
    const Json& reference = (*at)["$ref"];
    if (!reference.is_string()) return nullptr;
    const std::string text = reference.get<std::string>();
    const bool is_within = text == "#" || text.starts_with("#/");
    if (!is_within || text.find("~2") != std::string::npos) return nullptr;
    try {  // a pointer that is none, which only this way says so
      at = &root.at(pointer_of(text));
    } catch (const Json::exception&) {
      return nullptr;
    }
  }
  return nullptr;
}

const char* type_name(const Json& value) {
  return value.is_string() ? "string" : value.is_null() ? "null" : "other";
}

// seen: schemas that were added already; references may lead to one many times
Kinds kinds_of(const Json& root, const Json& given, std::set<const Json*>& seen,
               std::size_t depth = 0) {
  Kinds kinds;
  const Json* const schema = resolved(root, given);
  if (schema == nullptr || !schema->is_object() || depth > kJsonDepthMax) {
    kinds.others = true;
    return kinds;
  }
  if (!seen.insert(schema).second) return kinds;
  constexpr std::array<const char*, 6> kLimits = {"enum",   "const",     "pattern",
                                                  "format", "minLength", "maxLength"};
  for (const char* name : kLimits) kinds.is_plain = kinds.is_plain && !schema->contains(name);
  for (const char* name : {"anyOf", "oneOf", "allOf"})
    if (schema->contains(name) && (*schema)[name].is_array())
      for (const Json& one : (*schema)[name]) kinds.add(kinds_of(root, one, seen, depth + 1));
  const bool has_choices = kinds.string || kinds.null || kinds.others;
  if (has_choices) return kinds;
  if (schema->contains("const")) {
    kinds.add(type_name((*schema)["const"]));
  } else if (schema->contains("enum") && (*schema)["enum"].is_array()) {
    for (const Json& value : (*schema)["enum"]) kinds.add(type_name(value));
  } else if (const auto type = schema->find("type"); type != schema->end()) {
    for (const Json& one : type->is_array() ? *type : Json::array({*type}))
      kinds.add(one.is_string() ? one.get<std::string>() : "other");
  } else {
    kinds.others = true;
  }
  return kinds;
}

Error unsupported(const std::string& what) {
  return {ErrorKind::unsupported, "SCHEMA", what};
}

bool is_writable(std::string_view name) {
  return !name.empty() && name.find_first_of("<>\r\n") == std::string_view::npos;
}

}  // namespace

Result<std::vector<Parameter>> parameters_of(const Tool& tool) {
  const std::string_view text = schema_of(tool);
  const bool is_good = text.size() <= kSchemaBytesMax && json_excess(text) == nullptr;
  const Json root = is_good ? Json::parse(text, nullptr, false) : Json();
  // Whatever else is wrong with it add_schema() says.
  const Json none = Json::object(), nothing = Json::array();
  const bool is_object = root.is_object() && root.value("type", Json("object")) == "object" &&
                         !root.contains("$ref") && !root.contains("anyOf") &&
                         !root.contains("oneOf") && !root.contains("allOf");
  if (!is_object)
    return unsupported(
        "In the schema at #: this model's calls name their parameters one by one. Give an object "
        "with properties.");
  const Json& properties = root.contains("properties") ? root["properties"] : none;
  const Json& required = root.contains("required") ? root["required"] : nothing;
  if (!properties.is_object() || !required.is_array())
    return unsupported("In the schema at #: properties or required is malformed.");
  for (const Json& name : required)
    if (!name.is_string() || !properties.contains(name.get<std::string>()))
      return unsupported("In the schema at #: " + name.dump() +
                         " is required, but is none of the properties.");
  std::vector<Parameter> all;
  for (const auto& [name, schema] : properties.items()) {
    const bool is_required = std::ranges::find(required, Json(name)) != required.end();
    if (!is_required && schema == Json(false)) continue;
    if (!is_writable(name))
      return unsupported("In the schema at #/properties: a name has \"<\", \">\" or a line break.");
    std::set<const Json*> seen;
    const Kinds kinds = kinds_of(root, schema, seen);
    const bool is_bare = kinds.string && !kinds.others;
    all.push_back({.name = name,
                   .is_required = is_required,
                   .is_bare = is_bare,
                   .is_plain = is_bare && kinds.is_plain,
                   .takes_null = kinds.null});
  }
  return all;
}

Result<std::vector<Parameter>> checked_parameters(const Tool& tool) {
  GrammarBuilder builder;
  JsonRules rules(builder);
  SATCHEL_TRY(add_schema(schema_of(tool), "tool", builder, rules));
  return parameters_of(tool);
}

BareValues::BareValues(GrammarBuilder& builder, std::string_view end)
    : builder_(builder),
      end_(end),
      bare_(builder, {.name = "bare", .quote = "", .escapes = false, .end = end}),
      json_(builder, {.name = "value", .end = end}) {}

Result<GrammarBuilder::Node> BareValues::value(const Tool& tool, const Parameter& parameter,
                                               const std::string& rule_name) {
  if (parameter.is_plain) return builder_.until(end_);
  std::string at = "#/properties/";
  for (const char c : parameter.name) at += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  SATCHEL_TRY_ASSIGN(const GrammarBuilder::Node node,
                     add_schema(schema_of(tool), rule_name + (parameter.is_bare ? "-bare" : ""),
                                builder_, parameter.is_bare ? bare_ : json_, at));
  return builder_.sequence({node, builder_.text(end_)});
}

std::string bare_text(const OrderedJson& value) {
  return value.is_string() ? value.get<std::string>() : spaced_json(value);
}

OrderedJson read_bare(std::string_view text, const Parameter* parameter) {
  const bool is_string = parameter != nullptr && parameter->is_bare;
  if (is_string && !(parameter->takes_null && text == "null")) return std::string(text);
  Json value = read_json(text);
  return value.is_discarded() ? Json(std::string(text)) : value;
}

std::vector<Parameter> known_parameters(std::span<const Tool> tools, std::string_view name) {
  const Tool* const tool = find_tool(tools, name);
  if (tool == nullptr) return {};
  Result<std::vector<Parameter>> all = parameters_of(*tool);
  return all.ok() ? std::move(all).value() : std::vector<Parameter>();
}

const Parameter* find_parameter(const std::vector<Parameter>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Parameter::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace satchel::runtime
