#include <memory>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/workbench.h"

namespace satchel::app {
namespace {

Json to_json(const runtime::Estimate& estimate, std::size_t n_tokens) {
  return Json{{"schema", 1},
              {"tokens", n_tokens},
              {"weight_bytes", estimate.weight_bytes},
              {"cache_bytes", estimate.cache_bytes},
              {"scratch_bytes", estimate.scratch_bytes},
              {"pool_bytes", estimate.pool_bytes},
              {"kv_bytes_fp16", estimate.fp16_bytes},
              {"tokens_fit", estimate.n_tokens_fit},
              {"memory_free_bytes", estimate.memory_free_bytes},
              {"outside_bytes", estimate.outside_bytes},
              {"fits", estimate.fits}};
}

Result<int> run(const Options& options, std::size_t n_tokens, Console& console) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, chosen_recipe(options));
  SATCHEL_TRY_ASSIGN(const std::size_t budget, chosen_budget(options));
  const Paths paths = standard_paths(options.store);
  SATCHEL_TRY_ASSIGN(const auto engine,
                     open_engine(options, console, resolve_model(paths, options.model)));
  if (n_tokens == 0) n_tokens = engine->config().context;
  SATCHEL_TRY_ASSIGN(const runtime::Estimate estimate,
                     engine->estimate(recipe, {.n_tokens = n_tokens, .budget_bytes = budget}));
  if (console.json()) {
    console.document(to_json(estimate, n_tokens));
  } else {
    console.data(engine->config().name + ", recipe " + recipe.name() + ", " +
                 with_thousands(n_tokens) + " tokens\n" + "  weights        " +
                 format_bytes(estimate.weight_bytes) + "\n" + "  cache          " +
                 format_bytes(estimate.cache_bytes) + "  (" + format_bytes(estimate.fp16_bytes) +
                 " in fp16)\n" + "  scratch        " + format_bytes(estimate.scratch_bytes) +
                 "  while reading one prompt of that length\n" + "  beside them    " +
                 format_bytes(estimate.outside_bytes) + "  rows of logits, the backend's own\n" +
                 "  budget needed  " + format_bytes(estimate.pool_bytes) + "\n" +
                 "  tokens that fit the budget: " + with_thousands(estimate.n_tokens_fit) + "\n" +
                 (estimate.fits ? "It fits" : "It does not fit") + ": " +
                 format_bytes(estimate.memory_free_bytes) + " of memory are free.\n");
  }
  return estimate.fits ? int{kExitOk} : int{kExitMemory};
}

}  // namespace

void add_estimate(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<Options>();
  auto n_tokens = std::make_shared<std::size_t>(0);
  CLI::App* command = app.add_subcommand(
      "estimate", "What a model, recipe and length would take, before it is taken");
  add_output_options(*command, *options);
  add_model_options(*command, *options);
  add_recipe_options(*command, *options);
  command->add_option("--tokens", *n_tokens, "Length of the chat; default: the model's context")
      ->type_name("N");
  command->callback([=] {
    choose([=] {
      Console console(options->json, options->quiet);
      const Result<int> code = run(*options, *n_tokens, console);
      return code.ok() ? *code : console.fail(code.error());
    });
  });
}

}  // namespace satchel::app
