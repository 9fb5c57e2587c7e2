// What of a JSON text costs its parser more than the text is worth: it makes a value of every
// level, and looks through an object's names for each that is added to it.
#pragma once

#include <cstddef>
#include <string_view>

namespace satchel::runtime {

inline constexpr std::size_t kJsonDepthMax = 64;     // docs/reliability.md, Limits
inline constexpr std::size_t kJsonNamesMax = 1'024;  // in an object; likewise

// Before any parser: "is nested too deeply."; nullptr: nothing. The text need not be JSON.
const char* json_excess(std::string_view text);

}  // namespace satchel::runtime
