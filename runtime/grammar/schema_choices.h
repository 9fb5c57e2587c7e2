// Whether the choices of a oneOf exclude one another, so that it means what anyOf does.
#pragma once

#include <string>
#include <vector>

#include "runtime/grammar/json_rules.h"

namespace satchel::runtime {

// As JSON Schema has them: 1.0 is an integer.
bool is_of_type(const OrderedJson& value, const std::string& type);

// False also where it cannot be told by types, constants, or a required property with constants.
bool exclude_one_another(const std::vector<const OrderedJson*>& schemas);

}  // namespace satchel::runtime
