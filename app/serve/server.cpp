#include "app/serve/server.h"

#include <exception>
#include <thread>
#include <utility>

#include "app/serve/routes.h"
#include "runtime/chat/chat_errors.h"

namespace satchel::serve {

class Server::State {
 public:
  explicit State(ServerOptions given) : options(std::move(given)) {}

  std::optional<HttpResponse> refuse(const HttpRequest& request) {
    const Dialect dialect = dialect_of(request.path);
    std::optional<ApiError> error = check_head(request, options.guard);
    if (error) return counted(to_response(*error, dialect));
    const Headers cors = cross_origin_headers(request, options.guard);
    if (request.method == "OPTIONS") return counted({.status = 204, .headers = cors});
    Routes* const ready = routes;
    if (request.path == "/health")
      return counted({.status = ready != nullptr ? 200 : 503,
                      .body = ready != nullptr ? R"({"status":"ok"})" : R"({"status":"loading"})",
                      .headers = cors});
    if (ready == nullptr) error = ApiError{503, "loading", "", "The model is being loaded."};
    if (!error) error = ready->unknown(request);
    if (!error) return std::nullopt;
    return counted(to_response(*error, dialect));
  }

  HttpResponse answer(const HttpRequest& request) {
    const Dialect dialect = dialect_of(request.path);
    auto response = runtime::caught<HttpResponse>(
        [&]() -> Result<HttpResponse> { return routes.load()->answer(request); });
    HttpResponse out =
        response.ok() ? std::move(*response) : to_response(to_api(response.error()), dialect);
    for (auto& header : cross_origin_headers(request, options.guard))
      out.headers.push_back(std::move(header));
    return counted(std::move(out));
  }

  HttpResponse bad_body(const HttpRequest& request, int status) {
    const char* const code = status == 400 ? "invalid_body" : "request_too_large";
    return counted(
        to_response(ApiError{status, code, "", "The request is broken, or larger than is taken."},
                    dialect_of(request.path)));
  }

  HttpResponse counted(HttpResponse response) {
    const auto first = static_cast<std::size_t>(response.status / 100);
    if (first < metrics.responses.size()) ++metrics.responses[first];
    return response;
  }

  ServerOptions options;
  Metrics metrics;
  std::atomic<Routes*> routes = nullptr;  // nullptr: the model is being loaded
  std::unique_ptr<HttpServer> http;
  std::jthread listens;
};

Result<std::unique_ptr<Server>> Server::bind(ServerOptions options) {
  options.guard.is_local = is_local_address(options.host);
  options.guard.body_bytes = options.limits.body_bytes;
  if (!options.guard.is_local && options.guard.token.empty())
    return Error{ErrorKind::invalid, "TOKEN_MISSING",
                 "Other machines can reach " + options.host +
                     ": a token is needed. Make one with `openssl rand -hex 32 > token; chmod 600 "
                     "token` and give it with --token-file, or SATCHEL_TOKEN_FILE."};
  auto state = std::make_unique<State>(std::move(options));
  State* const its = state.get();
  HttpHandlers handlers{
      .refuse = [its](const HttpRequest& request) { return its->refuse(request); },
      .answer = [its](const HttpRequest& request) { return its->answer(request); },
      .bad_body = [its](const HttpRequest& request,
                        int status) { return its->bad_body(request, status); }};
  SATCHEL_TRY_ASSIGN(state->http, HttpServer::bind(its->options.host, its->options.port,
                                                   its->options.limits, std::move(handlers)));
  its->options.guard.port = state->http->port();
  its->listens = std::jthread([its] { its->http->run(); });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() {
  stop();
}

Result<void> Server::serve(runtime::ChatService& service, const runtime::ModelFacts& model,
                           runtime::ChatStart start, const std::function<void()>& ready) {
  Desk desk(service, std::move(start), state_->metrics);
  SATCHEL_TRY(desk.load());
  Routes routes(desk, state_->metrics,
                {.model = model.title,
                 .n_context = model.n_context,
                 .defaults = state_->options.defaults,
                 .shows_metrics = state_->options.shows_metrics});
  state_->routes = &routes;
  if (ready) ready();
  state_->listens.join();  // its connections are over then
  state_->routes = nullptr;
  return {};
}

void Server::stop() {
  state_->http->stop();
}
int Server::port() const {
  return state_->http->port();
}

}  // namespace satchel::serve
