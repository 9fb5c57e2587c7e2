#include "app/serve/routes.h"

#include <array>
#include <utility>

namespace satchel::serve {
namespace {

// While a prompt is read something is sent now and then, or proxies and clients give up.
constexpr double kKeepAliveMs = 10'000;

ApiError not_found(const std::string& what) {
  return {404, "not_found", "", what};
}

}  // namespace

Routes::Routes(Desk& desk, Metrics& metrics, RouteOptions options)
    : desk_(desk),
      metrics_(metrics),
      options_(std::move(options)),
      began_s_(clock_.wall_ms() / 1000) {}

std::span<const Routes::Route> Routes::table() {
  static constexpr std::array kRoutes = {
      Route{"POST", "/v1/chat/completions", &Routes::chat},
      Route{"GET", "/v1/models", &Routes::models},
      Route{"GET", "/v1/models/", &Routes::model},
      Route{"GET", "/metrics", &Routes::metrics},
  };
  return kRoutes;
}

const Routes::Route* Routes::find(const HttpRequest& request, bool& is_path_known) const {
  is_path_known = false;
  for (const Route& route : table()) {
    const bool is_it = route.path.ends_with('/') && route.path.size() > 1
                           ? request.path.starts_with(route.path)
                           : request.path == route.path;
    if (!is_it || (route.path == "/metrics" && !options_.shows_metrics)) continue;
    is_path_known = true;
    if (request.method == route.method) return &route;
  }
  return nullptr;
}

std::optional<ApiError> Routes::unknown(const HttpRequest& request) const {
  bool is_path_known = false;
  if (find(request, is_path_known) != nullptr) return std::nullopt;
  if (is_path_known)
    return ApiError{405, "method_not_allowed", "", "This path has another method."};
  return not_found("There is nothing at this path. See docs/server.md.");
}

HttpResponse Routes::answer(const HttpRequest& request) {
  bool is_path_known = false;
  const Route* route = find(request, is_path_known);
  if (route == nullptr) return to_response(not_found(""), dialect_of(request.path));
  return (this->*route->handler)(request);
}

// --- answers

HttpResponse Routes::talk(const HttpRequest& http, Parse parse, MakeForm make_form) {
  const Dialect dialect = dialect_of(http.path);
  Json body;
  ChatRequest request;
  if (const auto error = parse_body(http.body, body)) return to_response(*error, dialect);
  if (const auto error = parse(body, options_.defaults, request))
    return to_response(*error, dialect);
  body = {};
  if (const auto session = http.header("x-satchel-session"); session && request.session.empty()) {
    if (!is_session_id(*session))
      return to_response(bad_field("X-Satchel-Session", "This is no session id."), dialect);
    request.session = *session;
  }
  if (!request.model.empty() && request.model != options_.model)
    return to_response(ApiError{404, "model_not_found", "model",
                                "The model \"" + request.model + "\" is not open here; \"" +
                                    options_.model + "\" is."},
                       dialect);
  const bool streams = request.streams;
  auto turn = desk_.begin(std::move(request), http.gone);
  if (!turn.ok()) return to_response(to_api(turn.error()), dialect);
  if (streams) return stream(std::move(*turn), make_form, http.gone);
  const auto outcome = desk_.answer(**turn, {}, http.gone);
  if (!outcome.ok()) return to_response(to_api(outcome.error()), dialect);
  return to_response(make_form(facts_of(**turn), {})->whole(*outcome));
}

HttpResponse Routes::stream(std::shared_ptr<Desk::Turn> turn, MakeForm make_form,
                            std::stop_token gone) {
  HttpResponse response{.content_type = "text/event-stream",
                        .headers = {{"Cache-Control", "no-store"}}};
  response.stream = [this, turn = std::move(turn), make_form, gone](const HttpWrite& write) {
    double sent_ms = clock_.steady_ms();
    const auto send = [&](std::string_view name, const std::string& data) {
      sent_ms = clock_.steady_ms();
      std::string event = name.empty() ? "" : "event: " + std::string(name) + "\n";
      write(event + "data: " + data + "\n\n");
    };
    const std::unique_ptr<Form> form = make_form(facts_of(*turn), send);
    const Listener listener{.reads =
                                [&] {
                                  if (clock_.steady_ms() - sent_ms > kKeepAliveMs)
                                    form->keep_alive();
                                },
                            .begins = [&] { form->begin(); },
                            .thought = [&](std::string_view text) { form->thought(text); },
                            .said = [&](std::string_view text) { form->said(text); }};
    const auto outcome = desk_.answer(*turn, listener, gone);
    if (outcome.ok())
      form->end(*outcome);
    else
      form->fail(to_api(outcome.error()));
  };
  return response;
}

AnswerFacts Routes::facts_of(const Desk::Turn& turn) const {
  return {.request = turn.request(),
          .model = options_.model,
          .created_s = clock_.wall_ms() / 1000,
          .n_prompt = turn.n_prompt(),
          .n_unread = turn.n_unread()};
}

HttpResponse Routes::chat(const HttpRequest& http) {
  return talk(http, parse_chat, make_chat_form);
}

// --- what there is

Json Routes::model_json() const {
  return {
      {"id", options_.model}, {"object", "model"}, {"created", began_s_}, {"owned_by", "satchel"}};
}

HttpResponse Routes::models(const HttpRequest&) {
  return to_response(Json{{"object", "list"}, {"data", Json::array({model_json()})}});
}

HttpResponse Routes::model(const HttpRequest& http) {
  const std::string id = http.path.substr(std::string_view("/v1/models/").size());
  if (id == options_.model) return to_response(model_json());
  return to_response(
      ApiError{404, "model_not_found", "model", "The model \"" + id + "\" is not open here."},
      dialect_of(http.path));
}

HttpResponse Routes::metrics(const HttpRequest&) {
  return {.content_type = "text/plain; version=0.0.4", .body = to_text(metrics_, desk_.n_asked())};
}

}  // namespace satchel::serve
