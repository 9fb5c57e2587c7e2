// A JSON schema as a grammar: every text of it is JSON that the schema accepts. Fewer texts than
// the schema accepts: properties come in the schema's order, those that it does not list only where
// additionalProperties asks for them.
//   takes    type, enum, const, properties, required, additionalProperties, items, prefixItems,
//            minItems, maxItems, minLength, maxLength, pattern, some formats, minimum, maximum
//            and their exclusive forms (whole numbers), anyOf, oneOf of choices that exclude one
//            another, allOf of one, $ref within the schema. Titles and the like mean nothing
//   errors   unsupported, SCHEMA: any other keyword, by its name and place; invalid, SCHEMA: it is
//            no schema, or nothing satisfies it
//   limits   kSchemaBytesMax, 64 levels, Grammar::kStepsMax
//   source   JSON Schema 2020-12
#pragma once

#include <string>
#include <string_view>

#include "kernels/base/result.h"
#include "runtime/grammar/grammar.h"
#include "runtime/grammar/grammar_builder.h"

namespace satchel::runtime {

inline constexpr std::size_t kSchemaBytesMax = 64u << 10;  // docs/reliability.md, Limits

Result<Grammar> grammar_of_schema(std::string_view schema);
// Any JSON object.
Grammar grammar_of_json_object();

class JsonRules;
// The same as a part of a larger grammar. name: of its rules, unlike others'. at: the part of the
// schema that is meant, as a JSON pointer
Result<GrammarBuilder::Node> add_schema(std::string_view schema, const std::string& name,
                                        GrammarBuilder& builder, JsonRules& rules,
                                        const std::string& at = "#");

}  // namespace satchel::runtime
