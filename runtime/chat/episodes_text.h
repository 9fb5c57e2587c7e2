// What people are told of the episodes that an answer could see.
#pragma once

#include <string>
#include <vector>

#include "runtime/session/session.h"

namespace satchel::runtime {

// "parts 3 and 7 of 12"; "" where the chat is not longer than the context, or none was seen.
std::string describe(const SeenEpisodes& episodes);
// "part 3": those that the answer's own words stand in; "" where there is none.
std::string describe_quoted(const SeenEpisodes& episodes);
std::string describe_missing(const SeenEpisodes& episodes);  // "part 3"; "": there are none
// Of all documents together.
PartsRead of_all(const std::vector<PartsRead>& documents);
// Of them: "3 of 12 parts read"; "" where all are.
std::string describe(const std::vector<PartsRead>& documents);

}  // namespace satchel::runtime
