#include "kvcache/prefill/prefill_scratch.h"

#include <numeric>

namespace satchel::kvcache {

PrefillScratch::PrefillScratch(CacheState& cache_in, PrefillPlan plan_in, Arena::Lease lease_in)
    : cache(cache_in),
      plan(std::move(plan_in)),
      lease(std::move(lease_in)),
      positions(plan.n_tokens()) {
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(plan.first_position));
}

ExactBlock PrefillScratch::line(std::size_t head) const {
  const std::size_t bytes = exact_block_bytes(plan.line_tokens(), token());
  return exact_block(at(plan.lines_at) + head * bytes, plan.line_tokens(), token());
}

ExactBlock PrefillScratch::kept(std::size_t head) const {
  const std::size_t bytes = exact_block_bytes(plan.line_tokens(), token());
  return exact_block(at(plan.kept_at) + head * bytes, plan.line_tokens(), token());
}

ExactBlock PrefillScratch::fresh(std::size_t head) const {
  const ExactBlock all = line(head);
  const std::size_t skip = headroom();
  return {all.k + skip * head_dim(), all.v + skip * head_dim(), all.positions + skip};
}

ExactBlock PrefillScratch::held(std::size_t of_layer, std::size_t head) const {
  const TokenShape its_token = cache.layout.shape.layers[of_layer].token();
  const std::size_t bytes = exact_block_bytes(plan.n_tokens(), its_token);
  return exact_block(at(plan.held_at[of_layer]) + head * bytes, plan.n_tokens(), its_token);
}

float* PrefillScratch::scores(std::size_t head) const {
  return reinterpret_cast<float*>(at(plan.scores_at + head * plan.scores_head_bytes));
}

float* PrefillScratch::state() const {
  return plan.state_bytes > 0 ? reinterpret_cast<float*>(at(plan.state_at)) : nullptr;
}

kernels::Batch PrefillScratch::batch(std::size_t first, std::size_t n) const {
  const auto now = std::span(positions).subspan(first, n);
  return {.positions = reinterpret_cast<const std::int32_t*>(at(plan.positions_at)) + first,
          .n_tokens = n,
          .position_min = now.front(),
          .position_max = now.back()};
}

Result<void> PrefillScratch::zero_scores() const {
  const std::vector<std::byte> zeros(plan.scores_head_bytes * n_kv_heads());
  SATCHEL_TRY(cache.backend.upload(at(plan.scores_at), zeros));
  if (plan.state_bytes == 0) return {};
  return cache.backend.upload(at(plan.state_at), std::vector<std::byte>(plan.state_bytes));
}

}  // namespace satchel::kvcache
