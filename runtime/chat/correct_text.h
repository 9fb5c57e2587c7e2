// What people are told of a message that was corrected, and of what it cost.
#pragma once

#include <string>

#include "runtime/session/session.h"

namespace satchel::runtime {

std::string describe(const CorrectReport& report);
std::string describe(const ExactReport& report);

}  // namespace satchel::runtime
