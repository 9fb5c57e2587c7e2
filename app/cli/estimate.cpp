#include <memory>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "kernels/base/main_memory.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

Json to_json(const runtime::Estimate& estimate, std::size_t n_tokens) {
  return Json{{"schema", 1},
              {"tokens", n_tokens},
              {"weight_bytes", estimate.weight_bytes},
              {"cache_bytes", estimate.cache_bytes},
              {"expected_bytes", estimate.expected_bytes},
              {"scratch_bytes", estimate.scratch_bytes},
              {"pool_bytes", estimate.arena_bytes},
              {"budget_bytes", estimate.budget_bytes},
              {"kv_bytes_fp16", estimate.fp16_bytes},
              {"tokens_fit", estimate.n_tokens_fit},
              {"tokens_most", estimate.n_tokens_most},
              {"room_bytes", estimate.available_bytes},
              {"memory_free_bytes", free_main_memory()},
              {"outside_bytes", estimate.outside_bytes},
              {"fits", estimate.fits}};
}

// Whose budget it is, and whose memory must hold it.
struct Asked {
  bool budget = false;
  bool gpu = false;
};

std::string verdict(const runtime::Estimate& estimate, const Asked& asked) {
  const std::string free = size_text(estimate.available_bytes) +
                           (asked.gpu ? " of GPU memory is" : " of memory is") + " free";
  if (estimate.fits) return "It fits: " + free + ".\n";
  const std::size_t taken = estimate.weight_bytes + estimate.arena_bytes;
  const bool fits_budget = estimate.arena_bytes <= estimate.budget_bytes;
  if (fits_budget) return "It does not fit: only " + free + ".\n";
  return "It does not fit the budget, which is " +
         size_text(estimate.arena_bytes - estimate.budget_bytes) + " too small." +
         (asked.budget ? "" : " Set a larger one with --budget.") +
         (taken > estimate.available_bytes
              ? " It does not fit in memory either: only " + free + ".\n"
              : "\n");
}

std::string to_text(const runtime::Estimate& estimate, const Asked& asked) {
  const std::string most = estimate.cache_bytes > estimate.expected_bytes
                               ? ", at most " + size_text(estimate.cache_bytes)
                               : "";
  return "  weights          " + size_text(estimate.weight_bytes) + "\n  cache            " +
         size_text(estimate.expected_bytes) + most + "  (" + size_text(estimate.fp16_bytes) +
         " in fp16)\n  workspace        " + size_text(estimate.scratch_bytes) +
         "  while reading a prompt of this length\n  other buffers    " +
         size_text(estimate.outside_bytes) + "  logits and the backend's own\n  required budget  " +
         size_text(estimate.arena_bytes) + "\n  budget           " +
         size_text(estimate.budget_bytes) + (asked.budget ? "\n" : "  (default)\n") +
         "  tokens that fit  " + count_text(estimate.n_tokens_fit) +
         (estimate.n_tokens_most > estimate.n_tokens_fit
              ? "; " + count_text(estimate.n_tokens_most) + " with older text at lower precision\n"
              : "\n") +
         verdict(estimate, asked);
}

Result<int> run(const Options& options, std::size_t n_tokens, Console& console) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, chosen_recipe(options));
  SATCHEL_TRY_ASSIGN(const std::size_t budget, chosen_budget(options));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options, console));
  if (n_tokens == 0) n_tokens = engine->config().context;
  SATCHEL_TRY_ASSIGN(
      const runtime::Estimate estimate,
      engine->estimate(recipe, {.n_tokens = n_tokens,
                                .budget_bytes = budget,
                                .asks = {.expected_bytes = true, .tokens_that_fit = true}}));
  if (console.json())
    console.document(to_json(estimate, n_tokens));
  else
    console.data(engine->config().name + ", recipe " + recipe.name() + ", " + count_text(n_tokens) +
                 " tokens\n" + to_text(estimate, {.budget = budget > 0, .gpu = engine->on_gpu()}));
  return estimate.fits ? int{kExitOk} : int{kExitMemory};
}

}  // namespace

void add_estimate(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<Options>();
  auto n_tokens = std::make_shared<std::size_t>(0);
  CLI::App* command = app.add_subcommand("estimate", "Estimate memory use");
  add_output_options(*command, *options);
  add_model_options(*command, *options);
  add_recipe_options(*command, *options);
  command->add_option("--tokens", *n_tokens, "Chat length in tokens; default: the model's context")
      ->type_name("N")
      ->check(whole_number(1));
  on_run(*command, choose, options, [n_tokens](const Options& given, Console& console) {
    return run(given, *n_tokens, console);
  });
}

}  // namespace satchel::app
