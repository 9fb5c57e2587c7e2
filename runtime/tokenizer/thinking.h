// Whether a model thinks before it answers.
#pragma once

#include <cstdint>

namespace satchel::runtime {

// automatic: what the template does if it is not told; on and off want a template with a switch.
enum class Thinking : std::uint8_t { automatic, on, off };

}  // namespace satchel::runtime
