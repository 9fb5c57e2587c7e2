// Whether a model thinks before it answers.
#pragma once

#include <cstdint>

namespace satchel::runtime {

// automatic: the template's default; on and off require a template with a switch.
enum class Thinking : std::uint8_t { automatic, on, off };

}  // namespace satchel::runtime
