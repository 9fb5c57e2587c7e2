// What the HTTP server and the routes hand each other. Nothing here knows a library.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace satchel::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method, path;  // the path decoded, without what is behind "?"
  Headers headers = {};
  std::string body = {};
  std::stop_token gone = {};  // the client left, or the server ends

  // Of the first header with this name, in upper or lower case.
  std::optional<std::string_view> header(std::string_view name) const;
  std::size_t n_headers(std::string_view name) const;
};

// False: the client left, and the rest need not be written.
using HttpWrite = std::function<bool(std::string_view)>;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};
  // In place of the body: writes it while it is made, on the thread of the connection.
  std::function<void(const HttpWrite&)> stream = {};
};

}  // namespace satchel::serve
