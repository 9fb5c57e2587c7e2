// Whether a value satisfies a JSON schema, as far as grammars take schemas: written from JSON
// Schema 2020-12 and from nothing in runtime/grammar.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace satchel::test {

// "": it does; else what does not.
std::string why_not(const nlohmann::json& value, const nlohmann::json& schema,
                    const nlohmann::json& root);
inline std::string why_not(const nlohmann::json& value, const nlohmann::json& schema) {
  return why_not(value, schema, schema);
}

}  // namespace satchel::test
