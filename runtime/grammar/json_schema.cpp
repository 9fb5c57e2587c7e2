#include "runtime/grammar/json_schema.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "kernels/base/size_text.h"
#include "runtime/grammar/json_excess.h"
#include "runtime/grammar/json_pattern.h"
#include "runtime/grammar/json_rules.h"
#include "runtime/grammar/schema_choices.h"

namespace satchel::runtime {
namespace {

using Node = GrammarBuilder::Node;
using Json = OrderedJson;

constexpr std::size_t kNameBytesMax = 256;
constexpr std::int64_t kBoundMax = 1'000'000'000'000'000;  // a double holds it and its neighbours

// Say nothing about which values are accepted.
constexpr std::array<std::string_view, 13> kAnnotations = {
    "title",      "description", "default",   "examples", "$schema",     "$id",          "$comment",
    "deprecated", "readOnly",    "writeOnly", "$defs",    "definitions", "discriminator"};
constexpr std::array<std::string_view, 20> kOfTypes = {
    "type",        "properties",  "required",         "additionalProperties",
    "items",       "prefixItems", "minItems",         "maxItems",
    "minLength",   "maxLength",   "pattern",          "format",
    "minimum",     "maximum",     "exclusiveMinimum", "exclusiveMaximum",
    "uniqueItems", "strict",      "minProperties",    "multipleOf"};

struct Format {
  std::string_view name, pattern;
};
// Dates without the 29th of February, so that each exists.
constexpr std::string_view kDate =
    "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    "02-(0[1-9]|1[0-9]|2[0-8]))";
constexpr std::string_view kTime =
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
constexpr std::string_view kUuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
constexpr std::string_view kByte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

std::string pattern_of_format(std::string_view format) {
  std::string pattern;
  if (format == "date") pattern = kDate;
  if (format == "time") pattern = kTime;
  if (format == "date-time") pattern = std::string(kDate) + "T" + std::string(kTime);
  if (format == "uuid") pattern = kUuid;
  if (format == "ipv4") pattern = "(" + std::string(kByte) + "\\.){3}" + std::string(kByte);
  return pattern.empty() ? "" : "^" + pattern + "$";
}

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Error bad_schema(const std::string& path, const std::string& what) {
  return {ErrorKind::invalid, "SCHEMA", "In the schema at " + path + ": " + what};
}
Error unsupported(const std::string& path, const std::string& what) {
  return {ErrorKind::unsupported, "SCHEMA", "In the schema at " + path + ": " + what};
}
Error no_key(const std::string& path, const std::string& name) {
  return unsupported(path, "this model's calls cannot spell the name \"" + name +
                               "\". Use letters, digits, \"_\" and \"-\".");
}

// What one name of a JSON pointer leads to; nullptr: nothing.
const Json* child(const Json& at, const std::string& key) {
  if (at.is_object()) {
    const auto found = at.find(key);
    return found == at.end() ? nullptr : &*found;
  }
  const bool is_index =
      !key.empty() && key.size() < 6 && key.find_first_not_of("0123456789") == std::string::npos;
  return at.is_array() && is_index && std::stoul(key) < at.size() ? &at[std::stoul(key)] : nullptr;
}

class SchemaReader {
 public:
  SchemaReader(const Json& root, const std::string& name, GrammarBuilder& builder, JsonRules& rules)
      : root_(root), name_(name), builder_(builder), rules_(rules) {}

  Result<Node> read(const std::string& from) {
    SATCHEL_TRY_ASSIGN(const Node whole, referred(from));
    while (!waiting_.empty()) {
      const std::string pointer = std::move(waiting_.back());
      waiting_.pop_back();
      SATCHEL_TRY_ASSIGN(const Json* const found, target(pointer));
      SATCHEL_TRY_ASSIGN(const Node node, schema(*found, pointer));
      builder_.define(name_ + pointer, node);
    }
    return whole;
  }

 private:
  // References become rules that are defined later: a schema may refer to itself.
  Result<Node> referred(const std::string& pointer) {
    if (known_.insert(pointer).second) {
      SATCHEL_TRY(target(pointer));
      waiting_.push_back(pointer);
    }
    return builder_.rule(name_ + pointer);
  }

  Result<const Json*> target(const std::string& pointer) const {
    const Error missing = bad_schema(pointer, "$ref leads to nothing.");
    if (!pointer.starts_with("#"))
      return unsupported(pointer, "$ref leads out of the schema. Put what it means into $defs.");
    const Json* at = &root_;
    std::size_t from = 1;
    while (from < pointer.size()) {
      if (pointer[from] != '/') return missing;
      const std::size_t end = std::min(pointer.find('/', from + 1), pointer.size());
      std::string key = pointer.substr(from + 1, end - from - 1);
      for (const auto& [escape, meant] : {std::pair("~1", "/"), std::pair("~0", "~")})
        for (std::size_t i = key.find(escape); i != std::string::npos; i = key.find(escape, i + 1))
          key.replace(i, 2, meant);
      at = child(*at, key);
      if (at == nullptr) return missing;
      from = end;
    }
    return at;
  }

  Result<Node> schema(const Json& given, const std::string& path) {
    if (given.is_boolean()) {
      if (given.get<bool>()) return rules_.any_value();
      return bad_schema(path, "false accepts nothing.");
    }
    if (!given.is_object()) return bad_schema(path, "a schema must be an object, true or false.");
    if (const Json* ref = find(given, "$ref")) {
      SATCHEL_TRY(alone(given, "$ref", path));
      if (!ref->is_string()) return bad_schema(path, "$ref must be a text.");
      return referred(ref->get<std::string>());
    }
    for (const char* name : {"const", "enum"})
      if (given.contains(name)) return constants(given, name, path);
    for (const char* name : {"anyOf", "oneOf", "allOf"})
      if (given.contains(name)) return choices(given, name, path);
    return of_types(given, path);
  }

  static const Json* find(const Json& given, std::string_view name) {
    const auto found = given.find(name);
    return found == given.end() ? nullptr : &*found;
  }

  // Nothing else there says what is accepted.
  static Result<void> alone(const Json& given, std::string_view name, const std::string& path,
                            std::string_view also = "") {
    for (const auto& [other, value] : given.items())
      if (other != name && other != also && !is_among(kAnnotations, other) &&
          !other.starts_with("x-"))
        return unsupported(path, "\"" + other + "\" beside \"" + std::string(name) +
                                     "\" is not supported. Move it into what " + std::string(name) +
                                     " holds.");
    return {};
  }

  Result<Node> constants(const Json& given, const std::string& name, const std::string& path) {
    SATCHEL_TRY(alone(given, name, path, "type"));
    std::vector<Json> values = {given[name]};
    if (name == "enum") {
      if (!given[name].is_array() || given[name].empty())
        return bad_schema(path, "enum must be a list of values.");
      values = given[name].get_ref<const Json::array_t&>();
    }
    SATCHEL_TRY_ASSIGN(const std::vector<std::string> types, types_of(given, path));
    std::vector<Node> ways;
    for (const Json& value : values)
      if (types.empty() || std::ranges::any_of(types, [&](const std::string& type) {
            return is_of_type(value, type);
          }))
        ways.push_back(rules_.literal(value));
    if (ways.empty()) return bad_schema(path, "no value of " + name + " has this type.");
    return builder_.any_of(std::move(ways));
  }

  Result<Node> choices(const Json& given, const std::string& name, const std::string& path) {
    SATCHEL_TRY(alone(given, name, path));
    const Json& list = given[name];
    if (!list.is_array() || list.empty())
      return bad_schema(path, name + " must be a list of schemas.");
    if (name == "allOf" && list.size() > 1)
      return unsupported(path, "allOf of several schemas is not supported. Join them into one.");
    if (name == "oneOf") {
      std::vector<const Json*> ways;
      for (const Json& one : list) {
        SATCHEL_TRY_ASSIGN(const Json* const meant, resolved(one));
        ways.push_back(meant);
      }
      if (!exclude_one_another(ways))
        return unsupported(path,
                           "oneOf is supported only where no two choices accept the same value. "
                           "Use anyOf, or give each a property with a const of its own.");
    }
    std::vector<Node> ways;
    for (std::size_t i = 0; i < list.size(); ++i) {
      SATCHEL_TRY_ASSIGN(const Node one,
                         schema(list[i], path + "/" + name + "/" + std::to_string(i)));
      ways.push_back(one);
    }
    return builder_.any_of(std::move(ways));
  }

  // What a reference means, itself or over others.
  Result<const Json*> resolved(const Json& given) const {
    const Json* at = &given;
    for (std::size_t n = 0; n < kJsonDepthMax && at->is_object() && at->contains("$ref"); ++n) {
      if (!(*at)["$ref"].is_string()) break;
      SATCHEL_TRY_ASSIGN(at, target((*at)["$ref"].get<std::string>()));
    }
    return at;
  }

  static Result<std::vector<std::string>> types_of(const Json& given, const std::string& path) {
    std::vector<std::string> types;
    const Json* const type = find(given, "type");
    if (type == nullptr) return types;
    const auto add = [&](const Json& one) {
      constexpr std::array<std::string_view, 7> kTypes = {"object",  "array",   "string", "number",
                                                          "integer", "boolean", "null"};
      if (!one.is_string() || !is_among(kTypes, one.get<std::string>())) return false;
      types.push_back(one.get<std::string>());
      return true;
    };
    const bool is_good =
        type->is_array() ? !type->empty() && std::ranges::all_of(*type, add) : add(*type);
    if (!is_good)
      return bad_schema(path,
                        "type must be object, array, string, number, integer, boolean or "
                        "null, or a list of them.");
    return types;
  }

  Result<Node> of_types(const Json& given, const std::string& path) {
    for (const auto& [name, value] : given.items())
      if (!is_among(kAnnotations, name) && !is_among(kOfTypes, name) && !name.starts_with("x-"))
        return unsupported(path, "\"" + name +
                                     "\" is not supported. Leave it out, and check it "
                                     "when you have the answer.");
    SATCHEL_TRY_ASSIGN(std::vector<std::string> types, types_of(given, path));
    if (types.empty()) types = meant_types(given);
    if (types.empty()) return rules_.any_value();
    std::vector<Node> ways;
    for (const std::string& type : types) {
      SATCHEL_TRY_ASSIGN(const Node one, of_type(given, type, path));
      ways.push_back(one);
    }
    return ways.size() == 1 ? ways[0] : builder_.any_of(std::move(ways));
  }

  // Of a schema that does not say: those that its keywords are about.
  static std::vector<std::string> meant_types(const Json& given) {
    const auto has = [&](std::initializer_list<const char*> names) {
      return std::ranges::any_of(names, [&](const char* name) { return given.contains(name); });
    };
    std::vector<std::string> types;
    if (has({"properties", "required", "additionalProperties", "minProperties"}))
      types.emplace_back("object");
    if (has({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}))
      types.emplace_back("array");
    if (has({"minLength", "maxLength", "pattern", "format"})) types.emplace_back("string");
    if (has({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}))
      types.emplace_back("number");
    return types;
  }

  Result<Node> of_type(const Json& given, const std::string& type, const std::string& path) {
    if (type == "object") return object(given, path);
    if (type == "array") return array(given, path);
    if (type == "string") return string(given, path);
    if (type == "number" || type == "integer") return number(given, type == "integer", path);
    return type == "boolean" ? rules_.boolean() : rules_.null();
  }

  static Result<std::size_t> count(const Json& given, const char* name, std::size_t fallback,
                                   const std::string& path) {
    const Json* const value = find(given, name);
    if (value == nullptr) return fallback;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > GrammarBuilder::kCountMax)
      return bad_schema(path, std::string(name) + " must be a whole number up to " +
                                  count_text(GrammarBuilder::kCountMax) + ".");
    return value->get<std::size_t>();
  }

  Result<Node> object(const Json& given, const std::string& path) {
    SATCHEL_TRY_ASSIGN(const std::size_t n_least, count(given, "minProperties", 0, path));
    if (n_least > 0) return unsupported(path, "\"minProperties\" is not supported. Use required.");
    const Json none = Json::object(), nothing = Json::array();
    const Json* properties = find(given, "properties");
    const Json* required = find(given, "required");
    const Json* others = find(given, "additionalProperties");
    if (properties == nullptr) properties = &none;
    if (required == nullptr) required = &nothing;
    if (!properties->is_object()) return bad_schema(path, "properties must be an object.");
    if (!required->is_array()) return bad_schema(path, "required must be a list of names.");
    std::vector<JsonProperty> all;
    for (const auto& [name, value] : properties->items()) {
      if (name.size() > kNameBytesMax)
        return unsupported(
            path, "a property's name is longer than " + std::to_string(kNameBytesMax) + " bytes.");
      if (!rules_.has_key(name)) return no_key(path, name);
      const bool is_required = is_among(*required, name);
      if (!is_required && value == Json(false)) continue;
      SATCHEL_TRY_ASSIGN(const Node node, schema(value, path + "/properties/" + escaped(name)));
      all.push_back({.name = name, .value = node, .is_required = is_required});
    }
    std::optional<Node> other;
    const bool is_any = others == nullptr && properties->empty() && required->empty();
    if (is_any || (others != nullptr && *others != Json(false))) {
      SATCHEL_TRY_ASSIGN(other, is_any ? Result<Node>(rules_.any_value())
                                       : schema(*others, path + "/additionalProperties"));
    }
    for (const Json& name : *required) {
      if (!name.is_string()) return bad_schema(path, "required must be a list of names.");
      if (properties->contains(name.get<std::string>())) continue;
      if (!rules_.has_key(name.get<std::string>())) return no_key(path, name);
      if (others == nullptr) other = rules_.any_value();
      if (!other || name.get_ref<const std::string&>().size() > kNameBytesMax)
        return bad_schema(path, "\"" + name.get<std::string>() +
                                    "\" is required, but is none of the properties.");
      all.push_back({.name = name.get<std::string>(), .value = *other, .is_required = true});
    }
    if (others == nullptr && !properties->empty()) other.reset();
    return rules_.object(all, other);
  }

  static std::string escaped(const std::string& name) {
    std::string out;
    for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
  }

  Result<Node> array(const Json& given, const std::string& path) {
    if (const Json* unique = find(given, "uniqueItems");
        unique != nullptr && *unique != Json(false))
      return unsupported(path,
                         "\"uniqueItems\" is not supported. Leave it out, and check it when "
                         "you have the answer.");
    SATCHEL_TRY_ASSIGN(const std::size_t least, count(given, "minItems", 0, path));
    SATCHEL_TRY_ASSIGN(const std::size_t most,
                       count(given, "maxItems", GrammarBuilder::kNoEnd, path));
    std::vector<Node> first;
    if (const Json* places = find(given, "prefixItems")) {
      if (!places->is_array()) return bad_schema(path, "prefixItems must be a list of schemas.");
      for (std::size_t i = 0; i < places->size(); ++i) {
        SATCHEL_TRY_ASSIGN(const Node one,
                           schema((*places)[i], path + "/prefixItems/" + std::to_string(i)));
        first.push_back(one);
      }
    }
    std::optional<Node> items;
    const Json* const of_all = find(given, "items");
    if (of_all != nullptr && of_all->is_array())
      return unsupported(path, "a list of items is not supported. Name it prefixItems.");
    if (of_all == nullptr || *of_all != Json(false)) {
      SATCHEL_TRY_ASSIGN(items, of_all == nullptr ? Result<Node>(rules_.any_value())
                                                  : schema(*of_all, path + "/items"));
    }
    if (most < least || (!items && least > first.size()))
      return bad_schema(path, "no list can have so many items. Lower minItems.");
    return rules_.array(first, items, least, most);
  }

  Result<Node> string(const Json& given, const std::string& path) {
    SATCHEL_TRY_ASSIGN(const std::size_t least, count(given, "minLength", 0, path));
    SATCHEL_TRY_ASSIGN(const std::size_t most,
                       count(given, "maxLength", GrammarBuilder::kNoEnd, path));
    if (most < least) return bad_schema(path, "maxLength is below minLength.");
    const bool is_counted = least > 0 || most != GrammarBuilder::kNoEnd;
    const Json *const pattern = find(given, "pattern"), *const format = find(given, "format");
    if (pattern == nullptr && format == nullptr)
      return is_counted ? rules_.string(least, most) : rules_.any_string();
    if (is_counted || (pattern != nullptr && format != nullptr))
      return unsupported(path,
                         "only one of pattern, format and a length is supported. Write the length "
                         "into the pattern: ^.{1,20}$");
    const char* const name = pattern != nullptr ? "pattern" : "format";
    if (!given[name].is_string()) return bad_schema(path, std::string(name) + " must be a text.");
    const std::string text = pattern != nullptr ? pattern->get<std::string>()
                                                : pattern_of_format(format->get<std::string>());
    if (text.empty() && format != nullptr)
      return unsupported(path, "the format " + format->dump() +
                                   " is not supported. Supported: date, time, date-time, uuid, "
                                   "ipv4; else use a pattern.");
    SATCHEL_TRY_ASSIGN(const Node inside, json_pattern(text, path + "/" + name, builder_, rules_));
    return rules_.quoted(inside);
  }

  static Result<std::optional<JsonRules::Bound>> bound(const Json& given, const char* name,
                                                       const char* open_name,
                                                       const std::string& path) {
    using Bound = std::optional<JsonRules::Bound>;
    Bound out;
    for (const char* each : {name, open_name}) {
      const Json* const value = find(given, each);
      if (value == nullptr) continue;
      const double number = value->is_number() ? value->get<double>() : 0.5;
      const auto whole = static_cast<std::int64_t>(
          std::clamp(number, -static_cast<double>(kBoundMax), static_cast<double>(kBoundMax)));
      if (out || static_cast<double>(whole) != number)
        return unsupported(path, std::string(each) +
                                     " must be a whole number of up to 15 digits, "
                                     "and each side can have one bound.");
      out = JsonRules::Bound{whole, each == open_name};
    }
    return out;
  }

  Result<Node> number(const Json& given, bool is_whole, const std::string& path) {
    using Bound = std::optional<JsonRules::Bound>;
    const Json* const step = find(given, "multipleOf");
    if (step != nullptr && !(is_whole && *step == Json(1)))
      return unsupported(path,
                         "\"multipleOf\" is not supported. Leave it out, and check it when "
                         "you have the answer.");
    SATCHEL_TRY_ASSIGN(const Bound least, bound(given, "minimum", "exclusiveMinimum", path));
    SATCHEL_TRY_ASSIGN(const Bound most, bound(given, "maximum", "exclusiveMaximum", path));
    std::optional<std::int64_t> first, last;
    if (least) first = least->value + (least->is_open && is_whole ? 1 : 0);
    if (most) last = most->value - (most->is_open && is_whole ? 1 : 0);
    const bool is_point = first && last && *first == *last;
    if ((first && last && *first > *last) ||
        (is_point && !is_whole && (least->is_open || most->is_open)))
      return bad_schema(path, "no number is within these bounds.");
    if (!least && !most) return is_whole ? rules_.integer() : rules_.number();
    return is_whole ? rules_.integer_between(first, last) : rules_.number_between(least, most);
  }

  const Json& root_;
  const std::string& name_;
  GrammarBuilder& builder_;
  JsonRules& rules_;
  std::set<std::string> known_;
  std::vector<std::string> waiting_;
};

}  // namespace

Result<Node> add_schema(std::string_view schema, const std::string& name, GrammarBuilder& builder,
                        JsonRules& rules, const std::string& at) {
  if (schema.size() > kSchemaBytesMax)
    return bad_schema("#", "it has " + count_text(schema.size()) + " bytes; the limit is " +
                               count_text(kSchemaBytesMax) + ".");
  if (const char* const excess = json_excess(schema))
    return bad_schema("#", "it " + std::string(excess));
  const Json root = Json::parse(schema, nullptr, false);
  if (root.is_discarded()) return bad_schema("#", "it is not valid JSON.");
  return SchemaReader(root, name, builder, rules).read(at);
}

Result<Grammar> grammar_of_schema(std::string_view schema) {
  GrammarBuilder builder;
  JsonRules rules(builder);
  SATCHEL_TRY_ASSIGN(const Node node, add_schema(schema, "", builder, rules));
  builder.define("root", node);
  Result<Grammar> grammar = builder.compile("root");
  if (grammar.ok()) return grammar;
  return Error{grammar.error().kind, "SCHEMA", "As a grammar: " + grammar.error().message};
}

Grammar grammar_of_json_object() {
  GrammarBuilder builder;
  JsonRules rules(builder);
  builder.define("root", rules.any_object());
  return std::move(builder.compile("root")).value();
}

}  // namespace satchel::runtime
