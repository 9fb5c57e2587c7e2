#include "kvcache/reading_plan.h"

#include <algorithm>

#include "kvcache/exact_block.h"
#include "kvcache/lane.h"
#include "kvcache/stages/pipeline.h"

namespace satchel::kvcache {
namespace {

void plan_lane(LanePlan& lane, const LaneLengths& before) {
  lane.n_new_sinks = std::min(lane.n_kept, kSinkTokens - before.n_sinks);
  lane.n_sinks_after = before.n_sinks + lane.n_new_sinks;
  const std::size_t line = before.n_tail + lane.n_kept - lane.n_new_sinks;
  if (line >= kTailCapacity) lane.n_pages = (line - kTailTokens) / kernels::kPageTokens;
  const std::size_t paged = lane.n_pages * kernels::kPageTokens;
  lane.first_staged = lane.n_pages == 0 ? before.n_tail : paged;
  lane.n_staged = line - lane.first_staged;
  lane.tail_slot = lane.first_staged - paged;
  lane.n_tail_after = line - paged;
}

void place_in_scratch(ReadingPlan& plan, const CacheShape& shape) {
  std::size_t at = 0;
  const auto take = [&](std::size_t bytes) {
    const std::size_t begin = at;
    at += aligned_64(bytes);
    return begin;
  };
  plan.positions_at = take(plan.n_tokens * sizeof(std::int32_t));
  plan.kv_head_bytes = 2 * aligned_64(plan.n_tokens * shape.head_dim * sizeof(Half));
  plan.kv_at = take(plan.kv_head_bytes * shape.n_kv_heads);
  if (plan.evicts) {
    plan.scores_head_bytes = aligned_64(plan.n_tokens * sizeof(float));
    plan.scores_at = take(plan.scores_head_bytes * shape.n_kv_heads);
    plan.kept_at = take(plan.n_tokens * sizeof(std::int32_t));
  }
  if (plan.n_pages > 0)
    plan.page_at = take(exact_block_bytes(kernels::kPageTokens, shape.head_dim));
  for (LanePlan& lane : plan.lanes)
    lane.staged_at = take(exact_block_bytes(lane.n_new_sinks + lane.n_staged, shape.head_dim));
  plan.scratch_bytes = (at + 255) / 256 * 256;  // as the pool rounds
}

}  // namespace

ReadingPlan plan_reading(const ReadingRequest& request) {
  const CacheShape& shape = request.shape;
  ReadingPlan plan;
  plan.n_tokens = request.n_tokens;
  plan.first_position = request.first_position;
  std::vector<std::size_t> budgets(shape.n_lanes(), request.n_tokens);
  if (request.pipeline.evicts(request.n_tokens)) {
    request.pipeline.allocate({.n_layers = shape.n_layers,
                               .n_kv_heads = shape.n_kv_heads,
                               .n_tokens = request.n_tokens,
                               .first_position = request.first_position,
                               .keep = request.pipeline.keep()},
                              budgets);
    plan.evicts = std::any_of(budgets.begin(), budgets.end(),
                              [&](std::size_t budget) { return budget < request.n_tokens; });
  }
  plan.lanes.resize(shape.n_lanes());
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    LanePlan& lane = plan.lanes[i];
    lane.n_kept = budgets[i];
    lane.first_page = plan.n_pages;
    plan_lane(lane, request.history.empty() ? LaneLengths{} : request.history[i]);
    plan.n_pages += lane.n_pages;
  }
  place_in_scratch(plan, shape);
  return plan;
}

Result<CacheNeed> cache_need(const CacheShape& shape, const Recipe& recipe, std::size_t n_tokens) {
  SATCHEL_TRY_ASSIGN(const kernels::PageLayout layout,
                     recipe.pipeline().page_layout(shape.head_dim));
  CacheNeed need;
  need.fixed_bytes = fixed_bytes(shape);
  if (n_tokens == 0) return need;
  const ReadingPlan plan =
      plan_reading({.shape = shape, .pipeline = recipe.pipeline(), .n_tokens = n_tokens});
  need.page_bytes = plan.n_pages * layout.bytes;
  need.reading_bytes = plan.scratch_bytes;
  return need;
}

}  // namespace satchel::kvcache
