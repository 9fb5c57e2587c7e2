// A pattern of a JSON schema (a regular expression) as a grammar of the JSON string that matches.
//   takes    literals, "." classes groups (a|b) * + ? {m,n} \d \w \s \D \W \S and escapes; ^ and $
//            at the ends of a choice. Without them the string may go on there
//   errors   unsupported, SCHEMA: look-around, references to groups, word borders, properties;
//            invalid, SCHEMA: no pattern
//   source   ECMA-262, patterns, as JSON Schema 2020-12 recommends (6.3.3)
#pragma once

#include <string>
#include <string_view>

#include "kernels/base/result.h"
#include "runtime/grammar/json_rules.h"

namespace satchel::runtime {

// Characters between quotes. path: of the pattern in its schema, for messages
Result<GrammarBuilder::Node> json_pattern(std::string_view pattern, const std::string& path,
                                          GrammarBuilder& builder, JsonRules& rules);

}  // namespace satchel::runtime
