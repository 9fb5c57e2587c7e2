#include "kvcache/reading/reading_plan.h"

#include <algorithm>
#include <numeric>

namespace satchel::kvcache {
namespace {

// A lane that was decided: one of what it held in pages, one of what then left its tail.
constexpr std::size_t kPartialPages = 2;

// Where lanes of all layers compete, all that is kept may lie in the layer with the largest heads.
std::size_t ragged_over_all(const CacheBook& cache, std::size_t n_tokens, std::size_t n_lanes) {
  std::size_t bytes = 0;
  for (std::size_t layer = 0; layer < cache.shape.n_layers(); ++layer)
    if (cache.takes_part(layer))
      bytes = std::max(bytes, ragged_bytes(cache, kTierRecipe, cache.shape.layers[layer].head_dim,
                                           n_tokens, n_lanes, kPartialPages));
  return bytes;
}

void choose_mode(ReadingPlan& plan, const CacheBook& cache, std::uint8_t finest) {
  const Pipeline& pipeline = cache.pipeline;
  const ReadRequest& request = plan.request;
  const bool waits = request.kind == SpanKind::message || request.kind == SpanKind::answer;
  const std::size_t n_before = cache.joins_what_waits(request) ? cache.spans.back().n_tokens : 0;
  const std::size_t n = n_before + request.n_tokens;
  const bool any_takes_part = cache.token_span(0, 1).n_layers > 0;
  if (request.kind == SpanKind::kept) {
    plan.tier = cache.kept_tier(finest);
  } else if (waits) {
    plan.state_after = SpanState::open;
    plan.tier = cache.kept_tier(finest);
    plan.scores_reading = cache.wants().reading && request.kind == SpanKind::message;
    plan.stores_scores = plan.scores_reading;
  } else if (!any_takes_part) {
    return;
  } else if (cache.decides_in_layer() &&
             pipeline.fires({.occasion = Occasion::span_read, .n_tokens = n})) {
    plan.mode = ReadingMode::in_layer;
    plan.scores_reading = cache.wants().reading;
    plan.stores_scores = plan.scores_reading && cache.wants().decoding;
  } else if (pipeline.fires({.occasion = Occasion::asked, .n_tokens = n})) {
    plan.state_after = SpanState::pending;
    plan.tier = cache.held_tier(finest);
    plan.scores_reading = plan.stores_scores = cache.wants().reading;
  }
}

TokenSpan span_of(const ReadingPlan& plan, const CacheBook& cache) {
  TokenSpan span = cache.token_span(plan.first_position, plan.n_tokens());
  span.n_after = 0;
  return span;
}

// What is known of lanes before they are scored: their budgets, and so whether they need scores, and
// how long a tail they can afford.
void plan_budgets(ReadingPlan& plan, const CacheBook& cache) {
  plan.lanes.resize(cache.shape.n_lanes());
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) plan.lanes[i].tail_kept = cache.tail_kept(i);
  if (plan.mode != ReadingMode::in_layer) return;
  const TokenSpan span = span_of(plan, cache);
  const std::size_t n_protected = cache.pipeline.n_protected(span);
  std::vector<std::size_t> budgets(span.n_lanes);
  plan.budgets_known = cache.pipeline.allocator().known(span, n_protected, budgets);
  if (!plan.budgets_known) return;
  const std::size_t short_tail = cache.pipeline.short_tail();
  for (std::size_t i = 0, known = 0; i < plan.lanes.size(); ++i) {
    if (!cache.takes_part(cache.layer_of[i])) continue;
    LanePlan& lane = plan.lanes[i];
    lane.budget = budgets[known++];
    lane.tail_kept = lane.budget >= kLongTailBudget ? cache.pipeline.tail() : short_tail;
    const std::size_t n_least = std::max(n_protected, kSinkTokens + lane.tail_kept);
    lane.is_scored = lane.budget > n_least && lane.budget < plan.n_tokens();
  }
}

void plan_lanes(ReadingPlan& plan, const CacheBook& cache) {
  const std::size_t n = plan.n_tokens();
  const std::size_t n_new_sinks = std::min(n, kSinkTokens - std::min(kSinkTokens, cache.n_tokens));
  const std::size_t since = cache.since_flush + n - n_new_sinks;
  // Ragged lanes need no whole pages: everything older than the tails goes at once.
  plan.since_flush_after = plan.mode == ReadingMode::in_layer ? 0 : since % kFlushTokens;
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    LanePlan& lane = plan.lanes[i];
    lane.n_tail_before = cache.n_tail(i);
    lane.n_new_sinks = n_new_sinks;
    const std::size_t line = lane.n_tail_before + n - n_new_sinks;
    // A tail that may be longer from now on grows into its room later.
    const std::size_t room = cache.tail_kept(i);
    lane.n_tail_after = std::min(line, std::min(room, lane.tail_kept) + plan.since_flush_after);
    lane.n_body = line - lane.n_tail_after;
  }
}

// In pages, of one lane's new tokens that are neither sinks nor tail. Where a lane begins to afford a
// long tail that is less: then what it was just before counts, so that no need falls.
std::size_t known_body(const ReadingPlan& plan, const LanePlan& lane, std::size_t n_protected,
                       std::size_t short_tail) {
  const auto body = [&](std::size_t budget, std::size_t n_tail) {
    const std::size_t exact = std::min(plan.n_tokens(), n_tail + lane.n_new_sinks);
    return budget - std::min(budget, exact);
  };
  const std::size_t budget = std::max(lane.budget, n_protected);
  const std::size_t before = std::min(budget, kLongTailBudget - 1);
  return std::max(body(budget, lane.n_tail_after),
                  body(before, std::min(lane.n_tail_after, short_tail)));
}

// The layer decides: what its lanes' new tokens take beside tails and sinks, of the total, and at
// least what is protected.
void plan_decided_layer(ReadingPlan& plan, const CacheBook& cache, std::size_t layer,
                        std::size_t total, std::size_t n_protected) {
  const LayerShape& shape = cache.shape.layers[layer];
  const std::size_t first = cache.first_lane[layer];
  std::size_t n_exact = 0, n_least = 0, n_known = 0;
  for (std::size_t i = first; i < first + shape.n_kv_heads; ++i) {
    const LanePlan& lane = plan.lanes[i];
    const std::size_t exact = std::min(plan.n_tokens(), lane.n_tail_after + lane.n_new_sinks);
    n_exact += exact;
    n_least += n_protected - std::min(n_protected, exact);
    n_known += known_body(plan, lane, n_protected, cache.pipeline.short_tail());
    const std::size_t n_head = std::min(lane.n_body, lane.n_tail_before);
    plan.body_bytes += cache.line_bytes(i, n_head, 0, kTierRecipe, plan.finest);
  }
  const std::size_t n_body =
      plan.budgets_known ? n_known : std::max(total - std::min(total, n_exact), n_least);
  plan.body_bytes += ragged_bytes(cache, kTierRecipe, shape.head_dim, n_body, shape.n_kv_heads);
}

void plan_body(ReadingPlan& plan, const CacheBook& cache) {
  std::size_t n_protected = 0;
  if (plan.mode == ReadingMode::in_layer) {
    const TokenSpan span = span_of(plan, cache);
    plan.totals.resize(span.n_layers);
    n_protected = cache.pipeline.n_protected(span);
    cache.pipeline.allocator().totals(span, n_protected, plan.totals);
  }
  std::size_t taking_part = 0;
  for (std::size_t layer = 0; layer < cache.shape.n_layers(); ++layer) {
    const LayerShape& shape = cache.shape.layers[layer];
    const std::size_t first = cache.first_lane[layer];
    if (plan.mode == ReadingMode::in_layer && cache.takes_part(layer)) {
      plan_decided_layer(plan, cache, layer, plan.totals[taking_part++], n_protected);
      continue;
    }
    for (std::size_t i = first; i < first + shape.n_kv_heads; ++i) {
      const LanePlan& lane = plan.lanes[i];
      // The old tail may be held otherwise: cut there and where the tier changes in it.
      const std::size_t n_head = std::min(lane.n_body, lane.n_tail_before);
      const std::size_t n_new = lane.n_body - n_head;
      std::size_t n = n_new;
      if (shape.window > 0) n = std::min(n, shape.window);
      plan.body_bytes += cache.line_bytes(i, n_head, n, plan.tier, plan.finest);
    }
  }
}

// Where a tail becomes short it goes to a page, and what it leaves to a smaller extent, before the old
// one is free: lane by lane, each with less than the one before it gave back.
std::size_t shortening_bytes(const ReadingPlan& plan, const CacheBook& cache) {
  const std::size_t short_tail = cache.pipeline.short_tail();
  if (short_tail >= cache.pipeline.tail()) return 0;
  const Lane::Room room{.n_sinks = kSinkTokens, .n_tail = short_tail + kFlushTokens};
  std::size_t most = 0;
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    const std::size_t head_dim = cache.layer(i).head_dim;
    const std::size_t n_flush =
        plan.lanes[i].n_tail_after - std::min(plan.lanes[i].n_tail_after, short_tail);
    most = std::max(most, Arena::rounded_up(Lane::exact_bytes(head_dim, room)) +
                              cache.body_bytes(kTierRecipe, head_dim, n_flush));
  }
  return most;
}

// A span that commit() decides: its tails go to pages when all lanes have made room.
void plan_settling(ReadingPlan& plan, const CacheBook& cache) {
  const std::size_t n = plan.n_tokens();
  const bool settles = plan.state_after == SpanState::pending && !cache.wants().probe &&
                       cache.pipeline.fires({.occasion = Occasion::span_read, .n_tokens = n});
  if (!settles) return;
  std::size_t waiting = 0, old = 0;
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    const LanePlan& lane = plan.lanes[i];
    const std::size_t head_dim = cache.layer(i).head_dim, window = cache.layer(i).window;
    const std::size_t n_new = lane.n_body - std::min(lane.n_body, lane.n_tail_before);
    waiting += cache.body_bytes(plan.tier, head_dim, window == 0 ? n_new : std::min(n_new, window));
    const std::size_t n_old = lane.n_tail_after - std::min(lane.n_tail_after, n);
    for (std::size_t at = 0; at < n_old; ++at)  // each may be of another tier than the one before
      old = std::max(old, cache.page_bytes(kTierExact, head_dim, at + 1));
    if (n_old > 0) plan.settle_bytes += old * kFlushSegmentsMax;
  }
  const std::size_t decided = decided_bytes(cache, plan.first_position, n);
  plan.settle_bytes += decided - std::min(decided, waiting) + shortening_bytes(plan, cache);
}

void place_in_scratch(ReadingPlan& plan, const CacheBook& cache, std::size_t n_slots) {
  std::size_t at = 0, n_kv_heads = 0, n_heads = 0, q_width = 0, lines = 0;
  const auto take = [&](std::size_t bytes) {
    const std::size_t begin = at;
    at += aligned_64(bytes);
    return begin;
  };
  const std::size_t n_line = plan.line_tokens();
  for (const LayerShape& layer : cache.shape.layers) {
    n_heads = std::max(n_heads, layer.n_heads);
    q_width = std::max(q_width, layer.n_heads * layer.head_dim);
    n_kv_heads = std::max(n_kv_heads, layer.n_kv_heads);
    lines = std::max(lines, layer.n_kv_heads * exact_block_bytes(n_line, layer.head_dim));
  }
  plan.positions_at = take(plan.n_tokens() * sizeof(std::int32_t));
  plan.lines_at = take(lines);
  if (plan.mode == ReadingMode::in_layer) {
    plan.kept_at = take(lines);
    plan.indices_at = take(n_kv_heads * n_line * sizeof(std::int32_t));
    if (cache.pipeline.wants_counts()) plan.counts_at = take(n_kv_heads * n_line * sizeof(float));
  }
  if (n_slots > 0) {
    plan.scores_head_bytes = aligned_64(n_slots * sizeof(float));
    plan.scores_at = take(n_kv_heads * plan.scores_head_bytes);
  }
  if (plan.scores_reading && plan.mode != ReadingMode::probe) {
    for (const LayerShape& layer : cache.shape.layers)
      plan.state_bytes =
          std::max(plan.state_bytes,
                   cache.pipeline.scorer().state_floats(layer, plan.n_tokens()) * sizeof(float));
    plan.state_at = take(plan.state_bytes);
  }
  if (plan.mode == ReadingMode::probe) {
    plan.lse_at = take(plan.n_tokens() * n_heads * sizeof(float));
    plan.unused_at = take(std::min(plan.n_tokens(), kLseRows) * q_width * sizeof(float));
  }
  if (plan.n_block > 0) {
    // More than a block of this span may have: so the need does not fall where one block becomes two.
    const std::size_t n = std::min(plan.n_tokens(), cache.wants().block_tokens);
    plan.block_q_at = take(n * q_width * sizeof(float));
    plan.block_lse_at = take((n * n_heads + kBlockWork) * sizeof(float));
  }
  for (std::size_t i = 0; i < plan.lanes.size(); ++i)
    plan.lanes[i].staged_at = take(exact_block_bytes(
        plan.lanes[i].n_new_sinks + plan.lanes[i].n_tail_after, cache.layer(i).head_dim));
  plan.scratch_bytes = Arena::rounded_up(at);
}

// Of a span in as few blocks as it takes, alike but for the last.
std::size_t even_blocks(std::size_t n_tokens, std::size_t most) {
  if (most == 0 || n_tokens == 0) return 0;
  const std::size_t n_blocks = (n_tokens + most - 1) / most;
  return (n_tokens + n_blocks - 1) / n_blocks;
}

}  // namespace

std::size_t ReadingPlan::line_tokens() const {
  return (mode == ReadingMode::probe ? 0 : kLineHead) + request.n_tokens;
}

// Whole pages take their share, and the last page of each lane at most so much more. Each tier of a
// lane has pages of its own.
std::size_t ragged_bytes(const CacheBook& cache, std::uint8_t tier, std::size_t head_dim,
                         std::size_t n_tokens, std::size_t n_lanes, std::size_t n_partial) {
  if (n_tokens == 0) return 0;
  constexpr std::size_t kFull = kernels::kPageTokens, kStep = kernels::kPageStep;
  const std::size_t full = cache.page_bytes(tier, head_dim, kFull);
  std::size_t beyond = 0;
  for (std::size_t n = 1; n < kFull; n += kStep) {
    const std::size_t share = full * n / kFull, page = cache.page_bytes(tier, head_dim, n);
    beyond = std::max(beyond, page - std::min(page, share));
  }
  const std::size_t n_last =
      std::min(n_lanes * cache.pipeline.n_own_codecs() * n_partial, n_tokens);
  return Arena::rounded_up((n_tokens * full + kFull - 1) / kFull + n_last * beyond);
}

// A lane with a short tail has more in pages than is counted here, but less beside them than it has
// taken: an exact token is never smaller, but for an exact page's positions.
std::size_t decided_bytes(const CacheBook& cache, std::size_t first_position,
                          std::size_t n_tokens) {
  TokenSpan span = cache.token_span(first_position, n_tokens);
  span.n_after = 0;
  std::vector<std::size_t> totals(span.n_layers);
  const Allocator& allocator = cache.pipeline.allocator();
  allocator.totals(span, cache.pipeline.n_protected(span), totals);
  const std::size_t n_tail =
      cache.recipe_is_exact ? cache.pipeline.short_tail() : cache.pipeline.tail();
  const std::size_t n_sinks = kSinkTokens - std::min(kSinkTokens, first_position);
  const std::size_t n_exact = std::min(n_tokens, n_sinks + n_tail);
  const auto body = [&](std::size_t total, std::size_t n_lanes) {
    return total - std::min(total, n_exact * n_lanes);
  };
  std::size_t bytes = 0, taking_part = 0;
  const bool over_all = allocator.scope() == Allocator::Scope::cache;
  if (over_all) {
    constexpr std::size_t kNone = 0;
    const std::size_t total = std::accumulate(totals.begin(), totals.end(), kNone);
    bytes += ragged_over_all(cache, body(total, span.n_lanes), span.n_lanes);
  }
  for (std::size_t layer = 0; layer < cache.shape.n_layers(); ++layer) {
    const LayerShape& shape = cache.shape.layers[layer];
    const std::size_t n = shape.n_kv_heads;
    if (!cache.takes_part(layer)) {  // pages go when all of them is behind the window
      const std::size_t held = std::min(n_tokens - n_exact, shape.window + kernels::kPageTokens);
      bytes += n * ragged_bytes(cache, kTierRecipe, shape.head_dim, held, 1, kPartialPages);
    } else if (!over_all) {
      bytes += ragged_bytes(cache, kTierRecipe, shape.head_dim, body(totals[taking_part++], n), n,
                            kPartialPages);
    }
  }
  return bytes;
}

ReadingPlan plan_reading(const CacheBook& cache, const ReadRequest& request, std::uint8_t finest) {
  ReadingPlan plan{.request = request, .first_position = cache.n_tokens, .finest = finest};
  choose_mode(plan, cache, finest);
  if (plan.scores_reading) plan.n_block = even_blocks(request.n_tokens, cache.wants().block_tokens);
  plan_budgets(plan, cache);
  plan_lanes(plan, cache);
  plan_body(plan, cache);
  plan_settling(plan, cache);
  place_in_scratch(plan, cache, plan.scores_reading ? request.n_tokens : 0);
  if (plan.stores_scores)
    plan.score_bytes = ScoreStore::bytes_for(
        cache.shape.n_lanes(), request.n_tokens + cache.n_tokens % ScoreStore::kChunk);
  return plan;
}

ReadingPlan plan_probe(const CacheBook& cache, std::size_t n_tokens, std::size_t first_position,
                       std::size_t n_slots) {
  ReadingPlan plan{.request = {.n_tokens = n_tokens},
                   .first_position = first_position,
                   .mode = ReadingMode::probe,
                   .scores_reading = true,
                   .stores_scores = true};
  place_in_scratch(plan, cache, n_slots);
  return plan;
}

// Slots of the pages that a piece touches, of sinks and tail, as begin_probe() counts them.
std::size_t probe_bytes(const CacheBook& cache, std::size_t n_waiting) {
  if (!cache.wants().probe || n_waiting == 0) return 0;
  constexpr std::size_t kPage = kernels::kPageTokens;
  const std::size_t n = std::min(n_waiting, kProbeTokens);
  const std::size_t n_slots = (n / kPage + 2) * kPage + kSinkTokens + kTailTokens + kFlushTokens;
  const ReadingPlan probe = plan_probe(cache, n + kProbeScript, cache.n_tokens, n_slots);
  return probe.scratch_bytes +
         ScoreStore::bytes_for(cache.shape.n_lanes(), n_waiting + ScoreStore::kChunk);
}

}  // namespace satchel::kvcache
