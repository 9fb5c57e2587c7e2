#include "runtime/limits/estimator.h"

#include <algorithm>
#include <string>

#include "kvcache/planning/memory_planner.h"
#include "kvcache/recipes/pipeline.h"
#include "runtime/model/scratch.h"

namespace satchel::runtime {
namespace {

// Of a chat, which measures what it has read.
Result<kvcache::MemoryPlanner> planner_of(const ModelConfig& config,
                                          const kvcache::Recipe& recipe) {
  const bool keeps_pre_rope = recipe.pipeline().requirements(config.head_budgets.get()).pre_rope;
  return kvcache::MemoryPlanner::make(config.cache_shape(), recipe,
                                      pass_bytes(config, keeps_pre_rope, true));
}

Result<void> find_tokens_that_fit(const ModelConfig& config, const kvcache::Recipe& recipe,
                                  const kvcache::MemoryPlanner& planner, Estimate& out) {
  out.n_tokens_fit = planner.largest_fit(out.budget_bytes, config.context);
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe floor, recipe.at_floor());
  SATCHEL_TRY_ASSIGN(const kvcache::MemoryPlanner least, planner_of(config, floor));
  out.n_tokens_most = least.largest_fit(out.budget_bytes, config.context, kvcache::kSpanCramped);
  out.n_tokens_most = std::max(out.n_tokens_most, out.n_tokens_fit);
  return {};
}

}  // namespace

Result<Estimate> estimate(const ModelConfig& config, std::size_t weight_bytes,
                          const kvcache::Recipe& recipe, const EstimateRequest& request) {
  const std::size_t n_tokens = request.n_tokens == 0 ? config.context : request.n_tokens;
  if (n_tokens > config.context)
    return Error{ErrorKind::invalid, "PARAM",
                 "tokens must be at most the model's context of " + std::to_string(config.context) +
                     ", is " + std::to_string(n_tokens) + "."};
  const kernels::AvailableMemory available =
      request.available ? *request.available : kernels::available_main_memory();
  Estimate out;
  out.budget_bytes = request.budget_bytes;
  if (out.budget_bytes == 0) {
    SATCHEL_TRY_ASSIGN(out.budget_bytes, default_budget(config, available));
  }
  SATCHEL_TRY_ASSIGN(const kvcache::MemoryPlanner planner, planner_of(config, recipe));
  const kvcache::MemoryPlanner::Bound need = planner.bound(n_tokens);
  out.weight_bytes = weight_bytes;
  out.cache_bytes = need.cache_bytes;
  if (request.asks.expected_bytes) {
    // In memory that can hold it.
    const std::size_t bytes = std::max(out.budget_bytes, need.total());
    out.expected_bytes =
        planner.expected(n_tokens, {.arena_bytes = kvcache::Arena::rounded_down(bytes),
                                    .others_bytes = kept_bytes(config, n_tokens)});
    // Pages that one span begins the next does not fill, which the bound of one span does not know.
    out.cache_bytes = std::max(out.cache_bytes, out.expected_bytes);
  }
  out.scratch_bytes = need.scratch_bytes;
  out.arena_bytes = out.cache_bytes + out.scratch_bytes;
  out.fp16_bytes = n_tokens * config.cache_shape().fp16_bytes_per_token();
  if (request.asks.tokens_that_fit) SATCHEL_TRY(find_tokens_that_fit(config, recipe, planner, out));
  out.available_bytes = available.most;
  out.fits = out.arena_bytes <= out.budget_bytes && out.arena_bytes <= out.available_bytes &&
             weight_bytes <= out.available_bytes - out.arena_bytes;
  return out;
}

Result<std::size_t> least_budget(const ModelConfig& config, const kvcache::Recipe& recipe) {
  SATCHEL_TRY_ASSIGN(const kvcache::MemoryPlanner planner, planner_of(config, recipe));
  return planner.bound(std::min(kLeastTokens, config.context)).total();
}

Result<std::size_t> default_budget(const ModelConfig& config,
                                   const kernels::AvailableMemory& available) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  SATCHEL_TRY_ASSIGN(const kvcache::MemoryPlanner planner, planner_of(config, full));
  return std::min(planner.bound(config.context).total(), available.usually);
}

}  // namespace satchel::runtime
