// JsonRules: JSON in a grammar: values of each kind, with the white space that people write, and
// without what parsers refuse or read as something else (lone surrogates, numbers too large for a
// double).
//   white space  behind "{", "[", "," and ":" and before "}" and "]": one space, or a new line with
//                up to kIndentMax spaces; unbounded it would be where a model goes on for ever
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/grammar_builder.h"

namespace satchel::runtime {

using OrderedJson = nlohmann::ordered_json;

// How JSON's values are spelled where a model was trained on something like it.
struct JsonSpelling {
  std::string_view name = "json";  // of its rules, unlike others'
  std::string_view quote = "\"";   // around strings; "": nothing
  bool escapes = true;             // false: characters stand as they are
  // What ends a value where quotes do not escape: in no string; "": nothing. Its first character is
  // in none of which a schema says what characters it has.
  std::string_view end = {};
  bool quotes_keys = true;  // false: letters, digits, "_" and "-" as they are
  std::string_view yes = "true", no = "false", none = "null";
};

// One property of an object, in its order.
struct JsonProperty {
  std::string name;
  GrammarBuilder::Node value = 0;
  bool is_required = false;
};

class JsonRules {
 public:
  using Node = GrammarBuilder::Node;
  static constexpr std::size_t kIndentMax = 20;
  static constexpr std::size_t kDigitsMax = 16;  // of an integer, and behind a point

  // builder  outlives it
  explicit JsonRules(GrammarBuilder& builder, const JsonSpelling& spelling = {})
      : builder_(builder), spelling_(spelling) {}

  // Whether an object's property may have this name.
  bool has_key(const std::string& name) const;

  Node any_value() { return named("value"); }
  Node any_object() { return named("object"); }
  Node any_array() { return named("array"); }
  Node any_string() { return named("string"); }
  Node string(std::size_t least, std::size_t most);  // of so many characters
  Node quoted(Node inside);                          // inside: characters as they stand in JSON
  Node number() { return named("number"); }
  Node integer() { return named("integer"); }
  Node boolean();
  Node null() { return builder_.text(spelling_.none); }
  Node literal(const OrderedJson& value);
  Node space() { return named("space"); }

  // One character in a string. characters: what it may mean
  Node character(const CodePoints& characters);
  Node any_character() { return named("character"); }

  // Whole numbers; none: without a bound.
  Node integer_between(std::optional<std::int64_t> least, std::optional<std::int64_t> most);
  struct Bound {
    std::int64_t value = 0;
    bool is_open = false;  // it is not among the numbers
  };
  Node number_between(const std::optional<Bound>& least, const std::optional<Bound>& most);

  // others  the value of further properties; none: there are none
  Node object(const std::vector<JsonProperty>& properties, std::optional<Node> others);
  // first  the items of the first places; items: of the others; none: there are no others
  Node array(const std::vector<Node>& first, std::optional<Node> items, std::size_t least,
             std::size_t most);

 private:
  Node named(std::string_view name);
  std::string rule_name(std::string_view of) const;
  void define(std::string_view name);
  Node made(std::string_view name);
  Node escaped_character();
  Node quote();
  std::string spelled(const OrderedJson& value) const;
  CodePoints plain_characters() const;  // that stand for themselves in a string
  CodePoints key_characters() const;
  Node key(const std::string& name);
  Node any_key();
  Node as_rule(Node node);
  Node list(Node item);  // "item, item, …" or nothing
  Node comma();
  Node property(Node name, Node value);
  Node key_other_than(const std::vector<std::string>& names);
  Node magnitude_between(std::uint64_t least, std::optional<std::uint64_t> most);
  Node digits_between(const std::string& least, const std::string& most);
  Node digits(std::size_t n);
  Node number_from_zero(const std::optional<Bound>& least, const std::optional<Bound>& most);

  GrammarBuilder& builder_;
  const JsonSpelling spelling_;
  std::size_t n_parts_ = 0;
};

}  // namespace satchel::runtime
