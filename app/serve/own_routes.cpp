// What no other server has: the sessions and what they hold, limits and recipes, and tokens.
//   threads  any: what changes a chat works alone, what looks works between two tokens of answers,
//            what needs no chat in the middle of a prompt as well
#include <algorithm>
#include <utility>

#include "app/cli/meter_text.h"
#include "app/cli/workbench.h"
#include "app/serve/fields.h"
#include "app/serve/form.h"
#include "app/serve/routes.h"
#include "runtime/limits/presets.h"

namespace satchel::serve {
namespace {

constexpr std::uint64_t kBytesMax = 1ull << 50;

// "/satchel/sessions/ID/cache": the id, and what of it.
struct Target {
  std::string session, part;
};
Target target_of(const std::string& path) {
  const std::string rest = path.substr(std::string_view("/satchel/sessions/").size());
  const std::size_t end = std::min(rest.find('/'), rest.size());
  return {rest.substr(0, end), end < rest.size() ? rest.substr(end + 1) : ""};
}

HttpResponse respond(const Result<Json>& done) {
  if (!done.ok()) return to_response(to_api(done.error()), Dialect::openai);
  return to_response(*done);
}

Error no_part(const std::string& part) {
  return {ErrorKind::not_found, "NOT_FOUND", "A session has nothing called \"" + part + "\"."};
}

Json summary(const KnownChat& chat, const runtime::Session* session) {
  Json out{{"id", chat.id},
           {"group", chat.group},
           {"messages", chat.said.size()},
           {"open", chat.is_open()},
           {"saved", chat.saved.value != 0}};
  if (session != nullptr) {
    out["tokens"] = session->tokens().size();
    out["read_tokens"] = session->n_read();
    out["cache_bytes"] = session->stats().bytes;
  }
  return out;
}

Json change_json(const runtime::MemoryChange& change) {
  return {{"bytes_before", change.bytes_before},     {"bytes_after", change.bytes_after},
          {"lowered_lane_tokens", change.n_lowered}, {"evicted_lane_tokens", change.n_evicted},
          {"reread_tokens", change.n_reread},        {"reread", app::to_json(change.reread)},
          {"fidelity", to_json(change.cost)},        {"fits", change.fits},
          {"least_bytes", change.limit_least}};
}

Json cache_json(const runtime::Session& session) {
  const kvcache::CacheStats stats = session.stats();
  Json out = app::to_json(stats);
  out["tiers"] = Json::array();
  for (const kvcache::TierStats& tier : stats.tiers)
    out["tiers"].push_back(
        {{"name", tier.name}, {"lane_tokens", tier.n_tokens}, {"bytes", tier.bytes}});
  return out;
}

Json fidelity_json(const runtime::Session& session) {
  const runtime::RecallProbe& recall = session.recall();
  const auto ledger = session.ledger();
  Json steps = app::to_json(ledger);
  for (std::size_t i = 0; i < ledger.size(); ++i)
    steps[i]["fidelity"] = to_json(ledger[i].fidelity);
  return {
      {"fidelity", to_json(session.fidelity())},
      {"recall",
       recall.n_asked == 0 ? Json() : Json{{"asked", recall.n_asked}, {"recalled", recall.n_said}}},
      {"steps", std::move(steps)}};
}

Result<Json> show(Desk& desk, const Target& target, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(KnownChat* const chat, desk.find_open(target.session, stop));
  return desk.look(stop, [&]() -> Result<Json> {
    const runtime::Session* session = desk.service().session(chat->handle);
    if (target.part == "cache" && session != nullptr) return cache_json(*session);
    if (target.part == "fidelity" && session != nullptr) return fidelity_json(*session);
    if (!target.part.empty()) return no_part(target.part);
    Json out = summary(*chat, session);
    out["roles"] = Json::array();
    for (const Said& said : chat->said)
      out["roles"].push_back(said.role == runtime::Role::user ? "user" : "assistant");
    return out;
  });
}

// The message is counted from 0, without the system text.
Result<Json> mark(Desk& desk, const KnownChat& chat, const Target& target, Fields& fields,
                  const std::stop_token& stop) {
  if (fields.find("message") == nullptr) fields.fail("message", "is required.");
  const std::size_t n = chat.ids.size();
  const auto index = fields.whole("message", 0, 0, n == 0 ? 0 : n - 1);
  if (n == 0) fields.fail("message", "does not exist: the session has none.");
  if (fields.error()) return Json();
  const runtime::ChatCall call{stop, {}};
  const auto done = target.part == "pin"
                        ? desk.service().pin(chat.handle, chat.ids[index], call)
                        : desk.service().forget(chat.handle, chat.ids[index], call);
  if (!done.ok()) return done.error();
  return Json{{"id", chat.id}, {"message", index}, {"done", target.part}};
}

Result<Json> change(Desk& desk, KnownChat& chat, const Target& target, Fields& fields,
                    const std::stop_token& stop) {
  runtime::MemoryRequest request;
  if (target.part == "limit") {
    if (fields.find("bytes") == nullptr) fields.fail("bytes", "is required.");
    request.limit_bytes = fields.whole("bytes", 1, 1, kBytesMax);
  } else {
    const std::string name = fields.text("recipe");
    if (name.empty() || !is_recipe_name(name)) fields.fail("recipe", "must be a name.");
    if (fields.error()) return Json();
    SATCHEL_TRY_ASSIGN(request.recipe, runtime::resolve_recipe(name));
  }
  const bool previews = fields.flag("preview", false);
  if (fields.error()) return Json();
  const runtime::ChatCall call{stop, {}};
  if (previews) {
    SATCHEL_TRY_ASSIGN(const auto preview,
                       desk.service().preview_memory(chat.handle, request, call));
    return change_json(preview);
  }
  SATCHEL_TRY_ASSIGN(const auto done, desk.service().change_memory(chat.handle, request, call));
  if (request.limit_bytes > 0) desk.set_limit(request.limit_bytes);
  if (request.recipe) chat.recipe = desk.service().chat(chat.handle)->memory().recipe.json();
  return change_json(done);
}

HttpResponse act(Desk& desk, const HttpRequest& http) {
  const Target target = target_of(http.path);
  Json body;
  if (const auto error = parse_body(http.body, body)) return to_response(*error, Dialect::openai);
  Fields fields(body);
  const auto done = desk.alone_with(target.session, http.gone, [&]() -> Result<Json> {
    const bool marks = target.part == "pin" || target.part == "forget";
    if (!marks && target.part != "limit" && target.part != "recipe") return no_part(target.part);
    SATCHEL_TRY_ASSIGN(KnownChat* const chat, desk.find_open(target.session, http.gone));
    return marks ? mark(desk, *chat, target, fields, http.gone)
                 : change(desk, *chat, target, fields, http.gone);
  });
  if (fields.error()) return to_response(*fields.error(), Dialect::openai);
  return respond(done);
}

HttpResponse estimate(Desk& desk, const HttpRequest& http) {
  Json body;
  if (const auto error = parse_body(http.body, body)) return to_response(*error, Dialect::openai);
  Fields fields(body);
  const std::string name = fields.text("recipe");
  const auto n_tokens = fields.whole("tokens", 0, 1, kTokensMax);
  const auto budget = fields.whole("budget_bytes", 0, 1, kBytesMax);
  if (!is_recipe_name(name)) fields.fail("recipe", "must be a name.");
  if (fields.error()) return to_response(*fields.error(), Dialect::openai);
  return respond(desk.look_aside(http.gone, [&]() -> Result<Json> {
    kvcache::Recipe recipe = desk.start().memory.recipe;
    if (!name.empty()) {
      SATCHEL_TRY_ASSIGN(recipe, runtime::resolve_recipe(name));
    }
    SATCHEL_TRY_ASSIGN(const auto estimate,
                       desk.service().engine()->estimate(
                           recipe, {.n_tokens = n_tokens,
                                    .budget_bytes = budget,
                                    .asks = {.expected_bytes = true, .tokens_that_fit = true}}));
    return Json{{"recipe", recipe.name()},
                {"weight_bytes", estimate.weight_bytes},
                {"cache_bytes", estimate.cache_bytes},
                {"expected_bytes", estimate.expected_bytes},
                {"scratch_bytes", estimate.scratch_bytes},
                {"budget_bytes", estimate.budget_bytes},
                {"kv_bytes_fp16", estimate.fp16_bytes},
                {"tokens_fit", estimate.n_tokens_fit},
                {"tokens_most", estimate.n_tokens_most},
                {"fits", estimate.fits}};
  }));
}

HttpResponse tokenize(Desk& desk, const HttpRequest& http) {
  Json body;
  if (const auto error = parse_body(http.body, body)) return to_response(*error, Dialect::openai);
  const Json text = body.value("content", Json());
  if (!text.is_string())
    return to_response(bad_field("content", "content must be a text."), Dialect::openai);
  return respond(desk.look_aside(http.gone, [&]() -> Result<Json> {
    SATCHEL_TRY_ASSIGN(const auto ids,
                       desk.service().engine()->tokenizer().encode(
                           text.get_ref<const std::string&>(), runtime::SpecialText::as_text));
    return Json{{"tokens", ids}};
  }));
}

HttpResponse detokenize(Desk& desk, const HttpRequest& http) {
  Json body;
  if (const auto error = parse_body(http.body, body)) return to_response(*error, Dialect::openai);
  const Json given = body.value("tokens", Json());
  const auto is_id = [](const Json& id) {
    return id.is_number_integer() && id >= 0 && id <= std::int64_t{0x7fffffff};
  };
  if (!given.is_array() || !std::ranges::all_of(given, is_id))
    return to_response(bad_field("tokens", "tokens must be a list of token ids."), Dialect::openai);
  return respond(desk.look_aside(http.gone, [&]() -> Result<Json> {
    const auto ids = given.get<std::vector<runtime::TokenId>>();
    return Json{{"content", desk.service().engine()->tokenizer().text(ids)}};
  }));
}

}  // namespace

void add_own_routes(std::vector<Route>& routes, Desk& desk) {
  const auto add = [&](const char* method, std::string_view path,
                       HttpResponse (*handler)(Desk&, const HttpRequest&)) {
    routes.push_back(
        {method, path, [&desk, handler](const HttpRequest& http) { return handler(desk, http); }});
  };
  add("GET", "/satchel/sessions", [](Desk& its, const HttpRequest& http) {
    return respond(its.alone(http.gone, [&]() -> Result<Json> {
      return its.look(http.gone, [&]() -> Result<Json> {
        Json list = Json::array();
        for (const KnownChat& chat : its.chats())
          list.push_back(summary(chat, its.service().session(chat.handle)));
        return Json{{"sessions", std::move(list)}};
      });
    }));
  });
  add("GET", "/satchel/sessions/", [](Desk& its, const HttpRequest& http) {
    const Target target = target_of(http.path);
    return respond(its.alone(http.gone, [&] { return show(its, target, http.gone); }));
  });
  add("DELETE", "/satchel/sessions/", [](Desk& its, const HttpRequest& http) {
    const Target target = target_of(http.path);
    return respond(its.alone_with(target.session, http.gone, [&]() -> Result<Json> {
      if (!target.part.empty()) return no_part(target.part);
      SATCHEL_TRY_ASSIGN(KnownChat* const chat, its.find(target.session));
      SATCHEL_TRY(its.remove(*chat));
      return Json{{"id", target.session}, {"deleted", true}};
    }));
  });
  add("POST", "/satchel/sessions/", act);
  add("POST", "/satchel/estimate", estimate);
  add("POST", "/tokenize", tokenize);
  add("POST", "/detokenize", detokenize);
}

}  // namespace satchel::serve
