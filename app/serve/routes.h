// Routes: which path is answered by what.
//   threads  any
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/serve/desk.h"
#include "app/serve/form.h"
#include "app/serve/http/http.h"
#include "app/serve/metrics.h"
#include "app/serve/response_ids.h"
#include "kernels/base/clock.h"

namespace satchel::serve {

struct RouteOptions {
  std::string model;  // its id
  std::size_t n_context = 0;
  Defaults defaults;
  bool shows_metrics = false;
};

struct Route {
  const char* method;
  std::string_view path;  // what ends with "/": all that begins with it
  std::function<HttpResponse(const HttpRequest&)> handler;
};
// What only Satchel has: sessions, memory, tokens (own_routes.cpp).
void add_own_routes(std::vector<Route>& routes, Desk& desk);

class Routes {
 public:
  // desk, metrics  outlive it
  Routes(Desk& desk, Metrics& metrics, RouteOptions options);

  // 404 or 405: before the body is read.
  std::optional<ApiError> unknown(const HttpRequest& request) const;
  HttpResponse answer(const HttpRequest& request);

 private:
  const Route* find(const HttpRequest& request, bool& is_path_known) const;

  using Parse = Parsed (*)(const Json&, const Defaults&, ChatRequest&);
  HttpResponse talk(const HttpRequest& http, Parse parse, MakeForm make_form);
  HttpResponse count_tokens(const HttpRequest& http);
  HttpResponse model(const HttpRequest& http) const;
  HttpResponse response(const HttpRequest& http);

  HttpResponse stream(std::shared_ptr<Desk::Turn> turn, MakeForm make_form, std::stop_token gone);
  // What is wrong with it, or the request.
  std::optional<ApiError> read(const HttpRequest& http, Parse parse, ChatRequest& request);
  AnswerFacts facts_of(const Desk::Turn& turn);
  Json model_json() const;

  Desk& desk_;
  const ToolForm& form_;  // of the model
  ResponseIds ids_;
  const RouteOptions options_;
  std::vector<Route> routes_;
  const SystemClock clock_;
  const std::int64_t began_s_;
};

}  // namespace satchel::serve
