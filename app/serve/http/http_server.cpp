#include "app/serve/http/http_server.h"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace satchel::serve {
namespace {

constexpr auto kWatchEvery = std::chrono::milliseconds(100);  // chosen: a client's leaving
// httplib adds the addresses of both sides as headers.
constexpr std::size_t kAddedHeaders = 4;

// A Connection as httplib reads and writes it.
class ConnectionStream final : public httplib::Stream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}
  bool is_readable() const override { return true; }
  bool is_writable() const override { return !connection_.gone().stop_requested(); }
  ssize_t read(char* to, size_t n) override { return connection_.read(to, n); }
  ssize_t write(const char* from, size_t n) override {
    return connection_.write({from, n}) ? static_cast<ssize_t>(n) : -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return connection_.socket(); }

 private:
  Connection& connection_;
};

// As many threads as connections: what is one too many is run at once, by who takes connections.
class ConnectionThreads final : public httplib::ThreadPool {
 public:
  explicit ConnectionThreads(std::size_t n) : ThreadPool(n), n_most_(n) {}
  void enqueue(std::function<void()> work) override {
    if (n_busy_ >= n_most_) return work();
    ++n_busy_;
    ThreadPool::enqueue([this, work = std::move(work)] {
      work();
      --n_busy_;
    });
  }

 private:
  const std::size_t n_most_;
  std::atomic<std::size_t> n_busy_ = 0;
};

void write_to(httplib::Response& out, HttpResponse response, Connection& connection) {
  out.status = response.status;
  for (const auto& [name, value] : response.headers) out.set_header(name, value);
  if (!response.stream) {
    out.set_content(response.body, response.content_type);
    return;
  }
  out.set_chunked_content_provider(
      response.content_type,
      [stream = std::move(response.stream), &connection](std::size_t, httplib::DataSink& sink) {
        connection.begin_stream();
        stream([&](std::string_view bytes) { return sink.write(bytes.data(), bytes.size()); });
        sink.done();
        return connection.end_stream();
      });
}

}  // namespace

class HttpServer::Server final : public httplib::Server {
 public:
  Server(const HttpLimits& limits, HttpHandlers handlers)
      : limits_(limits), handlers_(std::move(handlers)) {
    new_task_queue = [this] { return new ConnectionThreads(limits_.n_connections); };
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return begin(request, response);
    });
    set_socket_options([](socket_t socket) {  // the default lets a second program share the port
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    Post(R"(/[\s\S]*)", [this](const httplib::Request& request, httplib::Response& response,
                               const httplib::ContentReader& reader) {
      read_and_answer(request, response, reader);
    });
  }

  void serve() {
    taker_ = std::this_thread::get_id();
    std::jthread watch([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(kWatchEvery);
        const std::lock_guard hold(mutex_);
        notice_who_left();
        for (auto& [thread, connection] : open_) connection->flush();
      }
    });
    // The library lets five clients wait to be taken.
    ::listen(svr_sock_, static_cast<int>(limits_.n_connections));
    if (!ends_) listen_after_bind();
    has_ended_ = true;
  }

  void end() {
    ends_ = true;
    // Not to be stopped before it runs.
    while (taker_ != std::thread::id() && !is_running() && !has_ended_)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop();
    const std::lock_guard hold(mutex_);
    for (auto& [thread, connection] : open_) connection->gone().request_stop();
  }

  int port = 0;

 private:
  using Handled = httplib::Server::HandlerResponse;

  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket, limits_);
    if (std::this_thread::get_id() == taker_) {
      connection.write(
          "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
          "Content-Length: 0\r\nConnection: close\r\n\r\n");
      return false;
    }
    {
      const std::lock_guard hold(mutex_);
      open_[std::this_thread::get_id()] = &connection;
      if (ends_) connection.gone().request_stop();
    }
    ConnectionStream stream(connection);
    bool is_closed = false;
    process_request(stream, true, is_closed, [&](httplib::Request& request) {
      connection.end_head();
      // What would be done with them is httplib's, and nobody needs it here.
      request.ranges.clear();
      request.headers.erase("Range");
      request.headers.erase("Accept-Encoding");
    });
    connection.close_gently();
    const std::lock_guard hold(mutex_);
    open_.erase(std::this_thread::get_id());
    return true;
  }

  HttpRequest head_of(const httplib::Request& request) {
    HttpRequest head{.method = request.method, .path = request.path};
    head.headers.assign(request.headers.begin(), request.headers.end());
    head.gone = here().gone().get_token();
    return head;
  }

  // But this thread's. Needs the mutex.
  void notice_who_left() {
    for (auto& [thread, connection] : open_)
      if (thread != std::this_thread::get_id() && connection->left())
        connection->gone().request_stop();
  }

  Connection& here() {  // this thread's
    const std::lock_guard hold(mutex_);
    return *open_.at(std::this_thread::get_id());
  }

  Handled begin(const httplib::Request& request, httplib::Response& response) {
    const HttpRequest head = head_of(request);
    if (request.headers.size() > limits_.n_headers + kAddedHeaders) {
      write_to(response, handlers_.bad_body(head, 431), here());
      return Handled::Handled;
    }
    if (std::optional<HttpResponse> refused = handlers_.refuse(head)) {
      write_to(response, std::move(*refused), here());
      return Handled::Handled;
    }
    if (request.method == "POST") {
      // One of them may be who asks now, again: its first answer ends then.
      const std::lock_guard hold(mutex_);
      notice_who_left();
      return Handled::Unhandled;
    }
    write_to(response, handlers_.answer(head), here());
    return Handled::Handled;
  }

  void read_and_answer(const httplib::Request& request, httplib::Response& response,
                       const httplib::ContentReader& reader) {
    HttpRequest whole = head_of(request);
    bool is_too_long = false;
    const bool is_read = reader([&](const char* bytes, std::size_t n) {
      is_too_long = whole.body.size() + n > limits_.body_bytes;
      if (!is_too_long) whole.body.append(bytes, n);
      return !is_too_long;
    });
    if (is_read)
      write_to(response, handlers_.answer(whole), here());
    else
      write_to(response, handlers_.bad_body(whole, is_too_long ? 413 : 400), here());
  }

  const HttpLimits limits_;
  const HttpHandlers handlers_;
  std::atomic<std::thread::id> taker_{};
  std::atomic<bool> ends_ = false, has_ended_ = false;
  std::mutex mutex_;
  std::map<std::thread::id, Connection*> open_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::bind(const std::string& host, int port,
                                                     const HttpLimits& limits,
                                                     HttpHandlers handlers) {
  auto server = std::make_unique<Server>(limits, std::move(handlers));
  const bool is_bound = port == 0 ? (server->port = server->bind_to_any_port(host)) > 0
                                  : server->bind_to_port(host, port);
  if (!is_bound)
    return Error{ErrorKind::invalid, "BIND",
                 "Cannot listen at " + host + ":" + std::to_string(port) +
                     ". Another program may use the port: choose one with --port."};
  if (port != 0) server->port = port;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(server)));
}

HttpServer::HttpServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return server_->port;
}
void HttpServer::run() {
  server_->serve();
}
void HttpServer::stop() {
  server_->end();
}

}  // namespace satchel::serve
