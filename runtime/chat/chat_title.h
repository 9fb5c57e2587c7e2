// What a chat is called before anybody names it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace satchel::runtime {

// The first line of a text, its blanks made one, cut at a word after at most 60 characters.
std::string title_from(std::string_view text);
// "2026-11-24 18:05:09", in local time. wall_ms: since 1970, UTC
std::string name_by_date(std::int64_t wall_ms);

}  // namespace satchel::runtime
