// A Fidelity as a line of text, for whoever keeps measurements.
//   form  "tokens agreement kl attention_kept measured_at measured_ms", as numbers
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/fidelity/fidelity.h"

namespace satchel::runtime {

std::string to_text(const Fidelity& fidelity);
// None: the text is not one that to_text could have made.
std::optional<Fidelity> fidelity_from(std::string_view text);

}  // namespace satchel::runtime
