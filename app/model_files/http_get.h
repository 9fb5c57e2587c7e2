// One GET request over HTTP or HTTPS. The certificate of a host is checked against those that the
// system trusts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/model_files/url.h"
#include "kernels/base/result.h"

namespace satchel::app {

struct HttpHead {
  int status = 0;
  std::optional<std::uint64_t> content_length = {};  // of what follows
  std::string etag, last_modified, content_range, location;
};
struct HttpGet {
  Url url;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // False: that is all that was wanted.
  std::function<bool(const HttpHead&)> head = {};
  std::function<bool(std::string_view bytes)> body = {};
};

// Follows no redirect.
//   errors  NETWORK: the host cannot be reached, is not who it says, or the connection ended early;
//           cancelled, STOPPED
Result<void> http_get(const HttpGet& request, const std::stop_token& stop);

}  // namespace satchel::app
