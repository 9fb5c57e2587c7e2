// A server on a free port with the bundled model, in this process.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "app/serve/server.h"
#include "http_client.h"
#include "runtime/chat/chat_service.h"

namespace satchel::serve {

struct RunningOptions {
  std::filesystem::path store = {};  // "": none
  std::string recipe = "full";
  std::size_t limit_bytes = 0;
  ServerOptions server = {};
};

class RunningServer {
 public:
  explicit RunningServer(RunningOptions options = {});
  ~RunningServer();

  int port() const { return server_->port(); }
  // Of a chat: what was said, and what is to be added to the request.
  Reply chat(const Json& messages, const Json& more = Json::object()) const;
  Reply get(const std::string& path) const { return ask(port(), "GET", path); }
  Reply post(const std::string& path, const Json& body) const {
    return ask(port(), "POST", path, body);
  }

 private:
  std::unique_ptr<Server> server_;
  std::unique_ptr<runtime::ChatService> service_;
  std::jthread serves_;
};

Json user(const std::string& text);
Json model(const std::string& text);
// Of an answer to /v1/chat/completions.
std::string text_of(const Reply& reply);
std::size_t prompt_tokens(const Reply& reply);
std::size_t cached_tokens(const Reply& reply);

}  // namespace satchel::serve
