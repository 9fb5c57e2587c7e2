// Parameters one by one, of a form in which strings stand bare and all other values are JSON.
//   which   a parameter that takes only strings, or strings and null, is bare; where it may be
//           something else as well, a string is JSON, too, as a bare 5 could not be told from 5
//   fewer   a bare string has no end mark in it; one with a pattern, a length or an enum has not
//           the first character of one. The text null means null where that is taken. Further
//           properties (additionalProperties) are not offered
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tools/tool_form.h"

namespace satchel::runtime {

struct Parameter {
  std::string name;
  bool is_required = false;
  bool is_bare = false;   // else JSON
  bool is_plain = false;  // bare, and any text
  bool takes_null = false;
};

// In their order.
//   errors  unsupported, SCHEMA: it is no object with named properties, or a name has "<", ">" or a
//           line break
Result<std::vector<Parameter>> parameters_of(const Tool& tool);
// Those of a schema of which no keyword goes unheard.
//   errors  those of parameters_of() and of add_schema()
Result<std::vector<Parameter>> checked_parameters(const Tool& tool);

// The grammar of the values of all tools, each with its end mark.
class BareValues {
 public:
  // end  behind each value
  BareValues(GrammarBuilder& builder, std::string_view end);
  //   errors  those of add_schema()
  Result<GrammarBuilder::Node> value(const Tool& tool, const Parameter& parameter,
                                     const std::string& rule_name);

 private:
  GrammarBuilder& builder_;
  const std::string end_;
  JsonRules bare_, json_;
};

std::string bare_text(const OrderedJson& value);
// parameter  none: it is guessed
OrderedJson read_bare(std::string_view text, const Parameter* parameter);
// Of the named tool; empty where it is not known.
std::vector<Parameter> known_parameters(std::span<const Tool> tools, std::string_view name);
const Parameter* find_parameter(const std::vector<Parameter>& all, std::string_view name);

}  // namespace satchel::runtime
