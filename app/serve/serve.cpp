// `satchel serve`: the chats of one model for other programs, over HTTP.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/cache_quota.h"
#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/serve/commands.h"
#include "app/serve/server.h"
#include "storage/store.h"

namespace satchel::app {
namespace {

struct ServeOptions {
  Options common;
  std::string host = "127.0.0.1";
  int port = 8421;
  std::string token_file;
  std::vector<std::string> hosts, origins;
  bool shows_metrics = false;
  std::uint64_t cache_quota = storage::kQuotaBytes;
  std::uint64_t thin_after_days = 0;
};

// What people see of events while nobody is asked.
runtime::ChatSink sink_of(Console& console) {
  return [&console](runtime::ChatHandle, const runtime::ChatEvent& event) {
    if (const auto* now = std::get_if<runtime::Progress>(&event))
      if (const auto progress = console.progress()) progress(*now);
    if (const auto* notice = std::get_if<runtime::Noticed>(&event)) console.warning(notice->text);
  };
}

Result<serve::ServerOptions> server_options(const ServeOptions& given) {
  serve::ServerOptions options{.host = given.host,
                               .port = given.port,
                               .limits = {},
                               .guard = {},
                               .shows_metrics = given.shows_metrics,
                               .defaults = {given.common.sampling.over({})}};
  const auto refused = [](const std::string& option, const std::string& text, const char* use) {
    return Error{ErrorKind::invalid, "PARAM",
                 option + " \"" + text + "\" can never match. Use for example " + use + "."};
  };
  for (const std::string& host : given.hosts)
    if (!serve::can_be_host(host)) return refused("--allow-host", host, "my-machine.lan");
  for (const std::string& origin : given.origins)
    if (!serve::can_be_origin(origin))
      return refused("--allow-origin", origin, "https://pages.example");
  options.guard.hosts = given.hosts;
  options.guard.origins = given.origins;
  const char* const named = std::getenv("SATCHEL_TOKEN_FILE");
  const std::string file =
      !given.token_file.empty() ? given.token_file : std::string(named != nullptr ? named : "");
  if (!file.empty()) {
    SATCHEL_TRY_ASSIGN(options.guard.token, serve::read_token(file));
  }
  return options;
}

void tell_ready(const ServeOptions& given, const runtime::ModelFacts& model, int port,
                Console& console) {
  const bool is_v6 = given.host.find(':') != std::string::npos;
  const std::string url =
      "http://" + (is_v6 ? "[" + given.host + "]" : given.host) + ":" + std::to_string(port);
  console.end_progress();
  console.note("Serving " + model.title + " at " + url + "/v1. " +
               (given.common.store.empty() ? "Chats are not saved."
                                           : "Chats are saved in " + given.common.store + ".") +
               " Ctrl-C ends it.");
  if (console.json())
    console.document({{"schema", 1}, {"url", url}, {"port", port}, {"model", model.title}});
}

Result<int> run(const ServeOptions& given, Console& console) {
  const Options& common = given.common;
  SATCHEL_TRY_ASSIGN(serve::ServerOptions options, server_options(given));
  SATCHEL_TRY_ASSIGN(kvcache::Recipe recipe, chosen_recipe(common));
  SATCHEL_TRY_ASSIGN(const std::size_t limit, chosen_budget(common));
  const Paths paths = standard_paths(common.store);
  if (!paths.notice.empty()) console.warning(paths.notice);
  SATCHEL_TRY_ASSIGN(const std::filesystem::path model, chosen_model(paths, common.model));
  auto server = serve::Server::bind(std::move(options));
  if (!server.ok() && server.error().code == "BIND") {
    console.fail(server.error());
    return int{kExitBind};
  }
  if (!server.ok()) return server.error();
  runtime::EngineOptions engine = engine_options(common, paths);
  std::unique_ptr<runtime::ChatStore> store;
  if (common.store.empty()) {
    engine.profiles.clear();  // nothing is written
  } else {
    SATCHEL_TRY_ASSIGN(storage::StoreOptions kept, chosen_store(common));
    kept.quota_bytes = given.cache_quota;
    kept.thin_after_days = given.thin_after_days;
    SATCHEL_TRY_ASSIGN(store, storage::Store::open(std::move(kept)));
  }
  runtime::ChatService service(std::move(store), std::move(engine));
  const auto opened = service.open_model(std::filesystem::absolute(model).string(),
                                         {begin_interruptible(), sink_of(console)});
  if (!opened.ok()) return explain_not_opened(opened.error(), paths, model);
  tell_what_is_missing(*service.engine(), console);
  runtime::SessionOptions any(recipe);  // a limit that no chat fits is refused now
  any.budget_bytes = limit;
  SATCHEL_TRY(service.engine()->new_session(any));
  const std::stop_callback ends(begin_interruptible(), [&] { (*server)->stop(); });
  SATCHEL_TRY((*server)->serve(service, *opened, {.memory = {std::move(recipe), limit}},
                               [&] { tell_ready(given, *opened, (*server)->port(), console); }));
  return int{kExitOk};
}

}  // namespace

void add_serve(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand(
      "serve", "Answer other programs over HTTP, as OpenAI's and Anthropic's servers do");
  command
      ->add_option("--host", options->host,
                   "Address to listen at; all but this machine's own "
                   "need a token")
      ->capture_default_str()
      ->type_name("ADDRESS");
  command->add_option("--port", options->port, "Port to listen at; 0: any that is free")
      ->capture_default_str()
      ->check(whole_number(0, 65535))
      ->type_name("N");
  command
      ->add_option("--token-file", options->token_file,
                   "File with the token that clients must send; default: SATCHEL_TOKEN_FILE")
      ->type_name("FILE");
  command->add_option("--allow-host", options->hosts, "A name of this machine; can be repeated")
      ->type_name("NAME");
  command
      ->add_option("--allow-origin", options->origins,
                   "A web page that may ask: https://host; can be repeated")
      ->type_name("ORIGIN");
  command->add_flag("--metrics", options->shows_metrics, "Answer /metrics, numbers only");
  command
      ->add_option("--store", options->common.store,
                   "Folder for chats and saved caches; without it nothing is written")
      ->check(not_empty())
      ->type_name("DIR");
  add_key_option(*command, options->common);
  add_cache_quota(*command, options->cache_quota);
  add_thin_after(*command, options->thin_after_days);
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  add_recipe_options(*command, options->common);
  add_sampling_options(*command, options->common.sampling);
  on_run(*command, choose, options,
         [](const ServeOptions& given, Console& console) { return run(given, console); });
}

}  // namespace satchel::app
