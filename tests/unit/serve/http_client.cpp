#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>

namespace satchel::serve {
namespace {

std::string joined_chunks(std::string_view body) {
  std::string out;
  while (!body.empty()) {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), n, 16);
    const auto at = static_cast<std::size_t>(end - body.data()) + 2;
    if (error != std::errc() || n == 0 || at + n > body.size()) break;
    out += body.substr(at, n);
    body.remove_prefix(std::min(body.size(), at + n + 2));
  }
  return out;
}

}  // namespace

HttpClient::HttpClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) leave();
}

HttpClient::~HttpClient() {
  leave();
}

void HttpClient::leave() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string HttpClient::read_until(std::string_view text) {
  char bytes[4096];
  while (text.empty() || read_.find(text) == std::string::npos) {
    const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) break;
    read_.append(bytes, static_cast<std::size_t>(got));
  }
  return read_;
}

Reply HttpClient::read_reply() {
  const std::string all = read_until("");
  Reply reply;
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos || !all.starts_with("HTTP/1.1 ")) return reply;
  std::from_chars(all.data() + 9, all.data() + 12, reply.status);
  reply.head = all.substr(0, end);
  reply.body = all.substr(end + 4);
  if (reply.head.find("chunked") != std::string::npos) reply.body = joined_chunks(reply.body);
  return reply;
}

std::string request_text(int port, const std::string& method, const std::string& path,
                         const std::string& body, const std::string& headers) {
  std::string text = method + " " + path + " HTTP/1.1\r\n";
  if (headers.find("Host:") == std::string::npos)
    text += "Host: 127.0.0.1:" + std::to_string(port) + "\r\n";
  if (!body.empty() && headers.find("Content-Type:") == std::string::npos)
    text += "Content-Type: application/json\r\n";
  if (method == "POST") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + headers + "\r\n" + body;
}

Reply ask(int port, const std::string& method, const std::string& path, const Json& body,
          const std::string& headers) {
  HttpClient client(port);
  client.send(request_text(port, method, path, body.is_null() ? "" : body.dump(), headers));
  return client.read_reply();
}

std::vector<std::string> events_of(const std::string& body) {
  constexpr std::string_view kData = "data: ";
  std::vector<std::string> events;
  for (std::size_t at = 0; (at = body.find(kData, at)) != std::string::npos;) {
    const std::size_t end = body.find("\n\n", at);
    events.push_back(body.substr(at + kData.size(), end - at - kData.size()));
    at = end;
  }
  return events;
}

}  // namespace satchel::serve
