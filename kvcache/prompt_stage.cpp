// What happens to one lane's part of a prompt: choose what stays, pack it, keep it aside, move it in.
#include <algorithm>
#include <numeric>

#include "kvcache/prompt_state.h"

namespace satchel::kvcache {

ExactBlock PromptReading::State::fresh(std::size_t head) const {
  std::byte* k = at(plan.kv_at + head * plan.kv_head_bytes);
  return {reinterpret_cast<Half*>(k), reinterpret_cast<Half*>(k + plan.kv_head_bytes / 2),
          reinterpret_cast<std::int32_t*>(at(plan.positions_at))};
}

SpanLane PromptReading::State::span_lane(std::size_t head) const {
  const std::size_t n_group = cache.shape.n_heads / n_kv_heads();
  return {.keys = fresh(head).run(n_read),
          .n_heads = cache.shape.n_heads,
          .head_dim = cache.shape.head_dim,
          .first_head = head * n_group,
          .n_group = n_group,
          .scale = cache.shape.attention_scale};
}

void PromptReading::State::refresh_views() {
  for (std::size_t head = 0; head < n_kv_heads(); ++head) {
    const kernels::LaneView& history = cache.views[lane_index(head)];
    std::size_t n = 0;
    for (const kernels::ExactRun& run : history.runs) runs[head][n++] = run;
    if (n_read > 0) runs[head][n++] = fresh(head).run(n_read);
    views[head] = {std::span(runs[head]).first(n), history.pages};
  }
}

// Fills `kept` for one lane: by the recipe's stages, or with everything.
Result<void> PromptReading::State::choose(std::size_t head) {
  const LanePlan& lane = plan.lanes[lane_index(head)];
  kept.resize(lane.n_kept);
  if (!plan.evicts) {
    std::iota(kept.begin(), kept.end(), 0);
    return {};
  }
  kernels::Backend& backend = cache.backend;
  const Pipeline& pipeline = cache.recipe.pipeline();
  const TokenSpan span{.n_layers = cache.shape.n_layers,
                       .n_kv_heads = n_kv_heads(),
                       .n_tokens = plan.n_tokens,
                       .first_position = plan.first_position,
                       .keep = pipeline.keep()};
  auto* indices = reinterpret_cast<std::int32_t*>(at(plan.kept_at));
  SATCHEL_TRY(pipeline.scorer().finish(backend, span_lane(head), scores(head)));
  SATCHEL_TRY(pipeline.filter(backend, span, scores(head)));
  SATCHEL_TRY(
      pipeline.assigner().assign(backend, scores(head), plan.n_tokens, lane.n_kept, indices));
  SATCHEL_TRY(pipeline.merger().merge(backend, {.k = fresh(head).k,
                                                .v = fresh(head).v,
                                                .n_tokens = plan.n_tokens,
                                                .head_dim = cache.shape.head_dim,
                                                .kept = indices,
                                                .n_kept = lane.n_kept}));
  return backend.download(std::as_writable_bytes(std::span(kept)),
                          reinterpret_cast<const std::byte*>(indices));
}

Result<void> PromptReading::State::place_kept(std::size_t head, std::size_t first, std::size_t n,
                                              const ExactBlock& target, std::size_t to) const {
  const ExactBlock source = fresh(head);
  const std::size_t head_dim = cache.shape.head_dim;
  if (!plan.evicts) return copy_exact(cache.backend, head_dim, {source, first, target, to, n});
  if (n == 0) return {};
  const auto* indices = reinterpret_cast<const std::int32_t*>(at(plan.kept_at)) + first;
  const auto gather = [&](const void* from, std::size_t row_bytes, void* into) {
    return cache.backend.gather(static_cast<const std::byte*>(from), indices, n, row_bytes,
                                static_cast<std::byte*>(into));
  };
  SATCHEL_TRY(gather(source.k, head_dim * sizeof(Half), target.k + to * head_dim));
  SATCHEL_TRY(gather(source.v, head_dim * sizeof(Half), target.v + to * head_dim));
  return gather(source.positions, sizeof(std::int32_t), target.positions + to);
}

Result<void> PromptReading::State::place(std::size_t head, std::size_t first, std::size_t n,
                                         const ExactBlock& target, std::size_t to) const {
  const Lane& lane = cache.lanes[lane_index(head)];
  const std::size_t n_old = lane.n_tail() - std::min(lane.n_tail(), first);
  const std::size_t from_tail = std::min(n, n_old);
  SATCHEL_TRY(
      copy_exact(cache.backend, cache.shape.head_dim, {lane.tail(), first, target, to, from_tail}));
  const std::size_t n_new_sinks = plan.lanes[lane_index(head)].n_new_sinks;
  const std::size_t first_kept = n_new_sinks + first + from_tail - lane.n_tail();
  return n == from_tail ? Result<void>()
                        : place_kept(head, first_kept, n - from_tail, target, to + from_tail);
}

std::int32_t PromptReading::State::position_in_line(std::size_t head, std::size_t index) const {
  const Lane& lane = cache.lanes[lane_index(head)];
  if (index < lane.n_tail()) return lane.tail_positions()[index];
  const std::size_t i = plan.lanes[lane_index(head)].n_new_sinks + index - lane.n_tail();
  return positions[static_cast<std::size_t>(kept[i])];
}

Result<void> PromptReading::State::encode(std::size_t head) {
  const LanePlan& lane = plan.lanes[lane_index(head)];
  const std::size_t head_dim = cache.shape.head_dim;
  for (std::size_t i = 0; i < lane.n_pages; ++i) {
    const std::size_t first = i * kernels::kPageTokens;
    const ExactBlock block = exact_block(at(plan.page_at), kernels::kPageTokens, head_dim);
    SATCHEL_TRY(place(head, first, kernels::kPageTokens, block, 0));
    std::byte* bytes = cache.pool.page(pages[lane.first_page + i]);
    SATCHEL_TRY(cache.backend.encode_page(cache.layout, block.run(kernels::kPageTokens), bytes));
    page_views[lane.first_page + i] = {
        .bytes = bytes,
        .layout = &cache.layout,
        .first_position = position_in_line(head, first),
        .last_position = position_in_line(head, first + kernels::kPageTokens - 1)};
  }
  return {};
}

Result<void> PromptReading::State::stage(std::size_t head) {
  const LanePlan& lane = plan.lanes[lane_index(head)];
  const ExactBlock block =
      exact_block(at(lane.staged_at), lane.n_new_sinks + lane.n_staged, cache.shape.head_dim);
  SATCHEL_TRY(place_kept(head, 0, lane.n_new_sinks, block, 0));
  SATCHEL_TRY(place(head, lane.first_staged, lane.n_staged, block, lane.n_new_sinks));
  auto& to = staged_positions[lane_index(head)];
  to.resize(lane.n_staged);
  for (std::size_t i = 0; i < lane.n_staged; ++i)
    to[i] = position_in_line(head, lane.first_staged + i);
  return {};
}

// From scratch into the lane; nothing here allocates from the pool.
Result<void> PromptReading::State::move_in(std::size_t index) {
  const LanePlan& part = plan.lanes[index];
  Lane& lane = cache.lanes[index];
  const std::size_t head_dim = cache.shape.head_dim;
  const ExactBlock block =
      exact_block(at(part.staged_at), part.n_new_sinks + part.n_staged, head_dim);
  SATCHEL_TRY(copy_exact(cache.backend, head_dim,
                         {block, 0, lane.sinks(), lane.n_sinks(), part.n_new_sinks}));
  SATCHEL_TRY(copy_exact(cache.backend, head_dim,
                         {block, part.n_new_sinks, lane.tail(), part.tail_slot, part.n_staged}));
  for (std::size_t i = 0; i < part.n_staged; ++i)
    lane.set_tail_position(part.tail_slot + i, staged_positions[index][i]);
  for (std::size_t i = part.first_page; i < part.first_page + part.n_pages; ++i)
    lane.add_page(pages[i], page_views[i]);
  lane.set_lengths(part.n_sinks_after, part.n_tail_after);
  cache.refresh(index);
  return {};
}

}  // namespace satchel::kvcache
