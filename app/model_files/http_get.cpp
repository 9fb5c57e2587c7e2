#include "app/model_files/http_get.h"

#include <httplib.h>

#include <charconv>

namespace satchel::app {
namespace {

constexpr int kConnectSeconds = 20, kReadSeconds = 60;  // chosen, not measured

HttpHead head_of(const httplib::Response& response) {
  HttpHead head{.status = response.status,
                .etag = response.get_header_value("ETag"),
                .last_modified = response.get_header_value("Last-Modified"),
                .content_range = response.get_header_value("Content-Range"),
                .location = response.get_header_value("Location")};
  const std::string length = response.get_header_value("Content-Length");
  std::uint64_t bytes = 0;
  const auto [end, bad] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  if (!length.empty() && bad == std::errc() && end == length.data() + length.size())
    head.content_length = bytes;
  return head;
}

std::string what(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return "cannot be reached";
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification:
      return "has no certificate that this system trusts";
    default:
      return "ended the connection early";
  }
}

}  // namespace

Result<void> http_get(const HttpGet& request, const std::stop_token& stop) {
  httplib::Client client(request.url.origin);
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kReadSeconds);
  client.set_keep_alive(false);
  client.set_decompress(false);
  httplib::Headers headers = {{"Accept-Encoding", "identity"}};
  for (const auto& [name, value] : request.headers) headers.emplace(name, value);
  bool is_enough = false;
  const std::stop_callback ends(stop, [&client] { client.stop(); });
  const auto got = client.Get(
      request.url.target, headers,
      [&](const httplib::Response& response) {
        is_enough = !request.head(head_of(response));
        return !is_enough;
      },
      [&](const char* bytes, std::size_t n) {
        is_enough = stop.stop_requested() || !request.body({bytes, n});
        return !is_enough;
      });
  if (stop.stop_requested())
    return Error{ErrorKind::cancelled, "STOPPED", "The download was stopped."};
  if (got || is_enough) return {};
  return Error{ErrorKind::internal, "NETWORK",
               "\"" + request.url.host + "\" " + what(got.error()) + "."};
}

}  // namespace satchel::app
