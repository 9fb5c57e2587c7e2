// HttpServer: takes connections, reads requests and writes what they are answered with. The one
// place that knows cpp-httplib, of which it takes the parsing of requests and the chunks of
// streamed bodies; sockets, limits and deadlines are Connection's.
//   limits   HttpLimits. A connection carries one request, so none is idle; one above
//            n_connections is told 503 and closed
//   clients  one that leaves stops HttpRequest::gone within 0.2 s; its response is dropped
//   threads  run() takes connections on the caller's thread and answers each on one of
//            n_connections; stop() and port() are for any
//   errors   BIND: the address cannot be listened at
//   why 0.11 Debian 12 has cpp-httplib 0.11.4, whose own limits leave gaps: headers without end,
//            chunked and compressed bodies beyond the limit, chunk sizes below 0, clients that
//            send a byte a second, and no way to see that one left before it is written to. All
//            its reading goes through Connection, which counts bytes and time, and the headers
//            for ranges and compression are taken away before it sees them
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/serve/http/connection.h"
#include "app/serve/http/http.h"
#include "kernels/base/result.h"

namespace satchel::serve {

struct HttpHandlers {
  // Asked when the headers were read and the body was not; nothing: go on.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> refuse;
  std::function<HttpResponse(const HttpRequest&)> answer;
  // What a body that is too long, or broken, is answered with.
  std::function<HttpResponse(const HttpRequest&, int status)> bad_body;
};

class HttpServer {
 public:
  // port  0: any that is free
  static Result<std::unique_ptr<HttpServer>> bind(const std::string& host, int port,
                                                  const HttpLimits& limits, HttpHandlers handlers);
  ~HttpServer();

  int port() const;
  void run();   // until stop()
  void stop();  // clients that are being answered are let go

 private:
  class Server;
  explicit HttpServer(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace satchel::serve
