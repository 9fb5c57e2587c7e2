#include "running_server.h"

#include "runtime/limits/presets.h"
#include "storage/store.h"
#include "support/bundled_model.h"
#include "support/value_of.h"

namespace satchel::serve {

RunningServer::RunningServer(RunningOptions options) {
  options.server.shows_metrics = true;
  server_ = value_of(Server::bind(options.server));
  std::unique_ptr<runtime::ChatStore> store;
  if (!options.store.empty())
    store = value_of(storage::Store::open({.data_dir = options.store, .cache_dir = options.store}));
  runtime::EngineOptions engine;
  engine.n_threads = 1;
  engine.backend = "cpu";
  service_ = std::make_unique<runtime::ChatService>(std::move(store), engine);
  const runtime::ModelFacts model = value_of(service_->open_model(test::kBundledModel));
  kvcache::Recipe recipe = value_of(runtime::resolve_recipe(options.recipe));
  serves_ = std::jthread([this, model, recipe, limit = options.limit_bytes] {
    const auto served = server_->serve(*service_, model, {.memory = {recipe, limit}});
    EXPECT_TRUE(served.ok()) << served.error().message;
  });
  while (get("/health").status != 200) std::this_thread::yield();
}

RunningServer::~RunningServer() {
  server_->stop();
}

Reply RunningServer::chat(const Json& messages, const Json& more) const {
  Json body{{"messages", messages}, {"max_tokens", 12}};
  body.update(more);
  return post("/v1/chat/completions", body);
}

Json user(const std::string& text) {
  return {{"role", "user"}, {"content", text}};
}
Json model(const std::string& text) {
  return {{"role", "assistant"}, {"content", text}};
}

std::string text_of(const Reply& reply) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  if (reply.status != 200) return "";
  return reply.json()["choices"][0]["message"]["content"];
}
std::size_t prompt_tokens(const Reply& reply) {
  return reply.json()["usage"]["prompt_tokens"];
}
std::size_t cached_tokens(const Reply& reply) {
  return reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"];
}

}  // namespace satchel::serve
