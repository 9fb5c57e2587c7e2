// What people are told of the episodes that an answer could see.
#pragma once

#include <string>

#include "runtime/session/session.h"

namespace satchel::runtime {

// "parts 3 and 7 of 12"; "" where the chat is not longer than the context, or none was seen.
std::string describe(const SeenEpisodes& episodes);
// "part 3": those that the answer's own words stand in; "" where there is none.
std::string describe_quoted(const SeenEpisodes& episodes);
// "3 of 12 parts read"; "" where all are.
std::string describe(const PartsRead& parts);

}  // namespace satchel::runtime
