// Server: the chats of one model over HTTP: guard, routes, desk and metrics behind one HttpServer.
//   threads  run() is one thread's; stop() and port() are for any
//   errors   BIND; those of ChatService
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "app/serve/desk.h"
#include "app/serve/guard.h"
#include "app/serve/http/http_server.h"
#include "app/serve/metrics.h"

namespace satchel::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any that is free
  HttpLimits limits;
  GuardRules guard;  // is_local, port and body_bytes are set here
  bool shows_metrics = false;
  Defaults defaults;
};

class Server {
 public:
  // Listens. Until run() nobody is answered.
  static Result<std::unique_ptr<Server>> bind(ServerOptions options);
  ~Server();

  // Answers until stop().
  //   service  its model is open; it outlives the server
  //   start    of the chats that begin here
  //   ready    called when the first request can be answered
  Result<void> serve(runtime::ChatService& service, const runtime::ModelFacts& model,
                     runtime::ChatStart start, const std::function<void()>& ready = {});
  void stop();
  int port() const;

 private:
  class State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::serve
