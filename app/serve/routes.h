// Routes: which path is answered by what.
//   threads  any
#pragma once

#include <memory>
#include <span>
#include <string>

#include "app/serve/desk.h"
#include "app/serve/form.h"
#include "app/serve/http/http.h"
#include "app/serve/metrics.h"
#include "kernels/base/clock.h"

namespace satchel::serve {

struct RouteOptions {
  std::string model;  // its id
  std::size_t n_context = 0;
  Defaults defaults;
  bool shows_metrics = false;
};

class Routes {
 public:
  // desk, metrics  outlive it
  Routes(Desk& desk, Metrics& metrics, RouteOptions options);

  // 404 or 405: before the body is read.
  std::optional<ApiError> unknown(const HttpRequest& request) const;
  HttpResponse answer(const HttpRequest& request);

 private:
  using Handler = HttpResponse (Routes::*)(const HttpRequest&);
  struct Route {
    const char* method;
    std::string_view path;  // what ends with "/": all that begins with it
    Handler handler;
  };
  static std::span<const Route> table();
  const Route* find(const HttpRequest& request, bool& is_path_known) const;

  using Parse = Parsed (*)(const Json&, const Defaults&, ChatRequest&);
  HttpResponse talk(const HttpRequest& http, Parse parse, MakeForm make_form);
  HttpResponse chat(const HttpRequest& http);
  HttpResponse models(const HttpRequest& http);
  HttpResponse model(const HttpRequest& http);
  HttpResponse metrics(const HttpRequest& http);

  HttpResponse stream(std::shared_ptr<Desk::Turn> turn, MakeForm make_form, std::stop_token gone);
  AnswerFacts facts_of(const Desk::Turn& turn) const;
  Json model_json() const;

  Desk& desk_;
  Metrics& metrics_;
  const RouteOptions options_;
  const SystemClock clock_;
  const std::int64_t began_s_;
};

}  // namespace satchel::serve
