#include "app/serve/routes.h"

#include <utility>

#include "runtime/chat/chat_errors.h"

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
      form_(runtime::tool_form(desk.service().engine()->chat_template().tool_form())),
      ids_(form_),
      options_(std::move(options)),
      began_s_(clock_.wall_ms() / 1000) {
  const auto talks = [this](Parse parse, MakeForm make_form) {
    return
        [this, parse, make_form](const HttpRequest& http) { return talk(http, parse, make_form); };
  };
  routes_ = {
      {"POST", "/v1/chat/completions", talks(parse_chat, make_chat_form)},
      {"POST", "/v1/completions", talks(parse_completion, make_completion_form)},
      {"POST", "/v1/messages", talks(parse_messages, make_messages_form)},
      {"POST", "/v1/responses", talks(parse_response, make_response_form)},
      {"GET", "/v1/responses/", [this](const HttpRequest& http) { return response(http); }},
      {"POST", "/v1/messages/count_tokens",
       [this](const HttpRequest& http) { return count_tokens(http); }},
      {"GET", "/v1/models",
       [this](const HttpRequest&) {
         return to_response(Json{{"object", "list"}, {"data", Json::array({model_json()})}});
       }},
      {"GET", "/v1/models/", [this](const HttpRequest& http) { return model(http); }},
  };
  add_own_routes(routes_, desk_);
  if (!options_.shows_metrics) return;
  routes_.push_back({"GET", "/metrics", [this, &metrics](const HttpRequest&) {
                       return HttpResponse{.content_type = "text/plain; version=0.0.4",
                                           .body = to_text(metrics, desk_.n_asked())};
                     }});
}

const Route* Routes::find(const HttpRequest& request, bool& is_path_known) const {
  is_path_known = false;
  for (const Route& route : routes_) {
    const bool is_it = route.path.ends_with('/') ? request.path.starts_with(route.path)
                                                 : request.path == route.path;
    if (!is_it) continue;
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
  return route->handler(request);
}

// --- answers

std::optional<ApiError> Routes::read(const HttpRequest& http, Parse parse, ChatRequest& request) {
  Json body;
  if (auto error = parse_body(http.body, body)) return error;
  if (auto error = parse(body, options_.defaults, request)) return error;
  request.form = &form_;
  if (auto error = compile_shape(request)) return error;
  if (!request.previous.empty()) {
    const auto found = desk_.alone(
        http.gone, [&]() -> Result<bool> { return ids_.recall(desk_.chats(), request); });
    if (!found.ok()) return to_api(found.error());
    if (!*found)
      return bad_field("previous_response_id",
                       "Previous response with id '" + request.previous + "' not found.",
                       "previous_response_not_found");
  }
  write_calls(request);
  write_tools(desk_.service().engine()->chat_template().default_system(), request);
  if (const auto session = http.header("x-satchel-session"); session && request.session.empty()) {
    if (!is_session_id(*session)) return bad_field("X-Satchel-Session", "This is no session id.");
    request.session = *session;
  }
  if (request.model.empty() || request.model == options_.model) return std::nullopt;
  return ApiError{
      404, "model_not_found", "model",
      "The model \"" + request.model + "\" is not open here; \"" + options_.model + "\" is."};
}

HttpResponse Routes::talk(const HttpRequest& http, Parse parse, MakeForm make_form) {
  const Dialect dialect = dialect_of(http.path);
  ChatRequest request;
  if (const auto error = read(http, parse, request)) return to_response(*error, dialect);
  const bool streams = request.streams;
  auto turn = desk_.begin(std::move(request), http.gone);
  if (!turn.ok()) return to_response(to_api(turn.error()), dialect);
  if (streams) return stream(std::move(*turn), make_form, http.gone);
  const std::unique_ptr<Form> form = make_form(facts_of(**turn), {});
  const auto outcome = desk_.answer(**turn, {}, http.gone);
  if (!outcome.ok()) return to_response(to_api(outcome.error()), dialect);
  return to_response(form->whole(*outcome));
}

HttpResponse Routes::count_tokens(const HttpRequest& http) {
  const Dialect dialect = dialect_of(http.path);
  ChatRequest request;
  // Nothing is answered: the field that an answer needs may be missing.
  const auto parse = [](const Json& body, const Defaults& defaults, ChatRequest& out) {
    Json whole = body;
    if (whole.is_object()) whole["max_tokens"] = 1;
    return parse_messages(whole, defaults, out);
  };
  if (const auto error = read(http, parse, request)) return to_response(*error, dialect);
  const auto n = desk_.count_tokens(request);
  if (!n.ok()) return to_response(to_api(n.error()), dialect);
  return to_response(Json{{"input_tokens", *n}});
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
    std::unique_ptr<Form> form;
    const Listener listener{.reads =
                                [&] {
                                  if (clock_.steady_ms() - sent_ms > kKeepAliveMs)
                                    form->keep_alive();
                                },
                            .begins = [&] { form->begin(); },
                            .thought = [&](std::string_view text) { form->thought(text); },
                            .said = [&](std::string_view text) { form->said(text); },
                            .called = [&](const ToolCall& call) { form->called(call); }};
    const auto told = runtime::caught<void>([&]() -> Result<void> {
      form = make_form(facts_of(*turn), send);
      SATCHEL_TRY_ASSIGN(const Outcome outcome, desk_.answer(*turn, listener, gone));
      form->end(outcome);
      return {};
    });
    if (!told.ok() && form) form->fail(to_api(told.error()));
  };
  return response;
}

AnswerFacts Routes::facts_of(const Desk::Turn& turn) {
  return {.request = turn.request(),
          .clock = clock_,
          .ids = ids_,
          .model = options_.model,
          .session = turn.session(),
          .n_prompt = turn.n_prompt(),
          .n_unread = turn.n_unread()};
}

// --- what there is

HttpResponse Routes::response(const HttpRequest& http) {
  const std::string id = http.path.substr(std::string_view("/v1/responses/").size());
  auto found = desk_.alone(
      http.gone, [&]() -> Result<std::string> { return ids_.response(desk_.chats(), id); });
  if (!found.ok()) return to_response(to_api(found.error()), Dialect::openai);
  if (!found->empty()) return {.body = std::move(*found)};
  return to_response(ApiError{404, "response_not_found", "response_id",
                              "Response with id '" + id + "' not found."},
                     Dialect::openai);
}

Json Routes::model_json() const {
  return {{"id", options_.model},
          {"object", "model"},
          {"created", began_s_},
          {"owned_by", "satchel"},
          {"context_length", options_.n_context}};
}

HttpResponse Routes::model(const HttpRequest& http) const {
  const std::string id = http.path.substr(std::string_view("/v1/models/").size());
  if (id == options_.model) return to_response(model_json());
  return to_response(
      ApiError{404, "model_not_found", "model", "The model \"" + id + "\" is not open here."},
      dialect_of(http.path));
}

}  // namespace satchel::serve
