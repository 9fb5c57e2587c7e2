// What people are told of a message that was corrected, of what it cost, and of reuse that did not
// pay.
#pragma once

#include <string>

#include "runtime/session/session.h"

namespace satchel::runtime {

std::string describe(const CorrectReport& report);
std::string describe(const ExactReport& report);
// Whether it is known to have saved no time, and took long enough to be noticed.
bool is_loss(const Reuse& reuse);
std::string not_placed_text(NotPlaced why);    // a sentence; "" for none
std::string no_gain_text(const Reuse& reuse);  // "" where it is no loss

}  // namespace satchel::runtime
