// Who may ask: checked when the headers of a request were read, before anything of its body.
//   why      any page in a browser may send requests to this machine, and a name of its own may
//            point here (DNS rebinding): so Host must be ours, and Origin, which browsers add, must
//            be listed. A body must say that it is JSON, which a page cannot without being asked
//   source   docs/reliability.md; RFC 9110 (Host), RFC 6454 (Origin)
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/serve/api_error.h"
#include "app/serve/http/http.h"

namespace satchel::serve {

struct GuardRules {
  bool is_local = true;  // listens to this machine only
  int port = 0;
  std::string token;                 // "": none is asked for
  std::vector<std::string> hosts;    // names of this machine, beside its own and addresses
  std::vector<std::string> origins;  // pages that may ask
  std::size_t body_bytes = 0;        // the most
};

// Whether a request could name such a host, or come from such a page: one that never matches is a
// slip of whoever allows it.
bool can_be_host(const std::string& name);
bool can_be_origin(const std::string& origin);
bool is_local_address(const std::string& address);
// The token of the file, which nobody but its owner may read.
//   errors  TOKEN_FILE
Result<std::string> read_token(const std::filesystem::path& file);

// Nothing: the request may go on.
std::optional<ApiError> check_head(const HttpRequest& request, const GuardRules& rules);
// For a page that is listed: what lets its browser read the answer.
Headers cross_origin_headers(const HttpRequest& request, const GuardRules& rules);

}  // namespace satchel::serve
