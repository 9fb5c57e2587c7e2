// A client as small as can be, which can also do what no client should.
#pragma once

#include <string>
#include <string_view>

#include "app/serve/api_error.h"

namespace satchel::serve {

struct Reply {
  int status = 0;  // 0: none came
  std::string head, body;
  Json json() const { return Json::parse(body, nullptr, false); }
};

class HttpClient {
 public:
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(HttpClient&&) = delete;
  bool send(std::string_view bytes);
  // Until the text has come, or the server closed: what was read in all.
  std::string read_until(std::string_view text);
  Reply read_reply();  // until the server closes; chunks are joined
  void leave();

 private:
  int socket_;
  std::string read_;
};

std::string request_text(int port, const std::string& method, const std::string& path,
                         const std::string& body = "", const std::string& headers = "");
Reply ask(int port, const std::string& method, const std::string& path, const Json& body = {},
          const std::string& headers = "");
// The data of each event of a stream.
std::vector<std::string> events_of(const std::string& body);

}  // namespace satchel::serve
