// The parts of an address that a file is fetched from.
#pragma once

#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::app {

struct Url {
  std::string origin;  // "https://host:port"
  std::string host;    // without brackets
  std::string target;  // "/path?query", at least "/"
  bool is_secure = false;

  std::string text() const { return origin + target; }
  // This machine itself: what is sent there is read by nobody else.
  bool is_here() const;
};

//   errors  invalid, PARAM: not an http or https address; it has a user's name or a blank
Result<Url> parse_url(std::string_view text);
// What a response's Location means, seen from there.
Result<Url> redirected(const Url& from, std::string_view location);
// The last part of its path, decoded; "": there is none that can be a file's name.
std::string file_name_of(const Url& url);

}  // namespace satchel::app
