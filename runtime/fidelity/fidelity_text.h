// A Fidelity as a line of text, to be saved.
//   form  "tokens agreement kl attention_kept measured_at measured_ms", as numbers
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/fidelity/fidelity.h"

namespace satchel::runtime {

std::string to_text(const Fidelity& fidelity);
// Nothing if to_text() cannot have written the text.
std::optional<Fidelity> fidelity_from(std::string_view text);

}  // namespace satchel::runtime
