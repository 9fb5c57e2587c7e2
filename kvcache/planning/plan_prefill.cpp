#include "kvcache/planning/plan_prefill.h"

#include <algorithm>

#include "kvcache/lanes/score_store.h"

namespace satchel::kvcache {
namespace {

void choose_mode(PrefillPlan& plan, const CacheView& cache, std::uint8_t finest) {
  const Pipeline& pipeline = cache.layout.pipeline;
  const PrefillRequest& request = plan.request;
  const bool waits = request.kind == SegmentKind::message || request.kind == SegmentKind::answer;
  const std::size_t n_before = cache.text.joins_pending(request, cache.requirements().probe)
                                   ? cache.text.segments.back().n_tokens
                                   : 0;
  const std::size_t n = n_before + request.n_tokens;
  const bool any_takes_part = cache.token_span(0, 1).n_layers > 0;
  if (request.kind == SegmentKind::pinned) {
    plan.tier = cache.layout.protected_tier(finest);
  } else if (waits) {
    plan.state_after = SegmentState::open;
    plan.tier = cache.layout.protected_tier(finest);
    plan.scores_prefill = cache.requirements().prefill && request.kind == SegmentKind::message;
    plan.stores_scores = plan.scores_prefill;
  } else if (!any_takes_part) {
    return;
  } else if (cache.decides_in_layer() && pipeline.fires(TriggerEvent::span_read, n)) {
    plan.mode = PrefillMode::in_layer;
    plan.scores_prefill = cache.requirements().prefill;
    plan.stores_scores = plan.scores_prefill && cache.requirements().decoding;
  } else if (pipeline.fires(TriggerEvent::asked, n)) {
    plan.state_after = SegmentState::pending;
    plan.tier = cache.layout.held_tier(finest);
    plan.scores_prefill = plan.stores_scores = cache.requirements().prefill;
  }
}

TokenSpan span_of(const PrefillPlan& plan, const CacheView& cache) {
  TokenSpan span = cache.token_span(plan.first_position, plan.n_tokens());
  span.n_after = 0;
  return span;
}

// What is known of lanes before they are scored: their budgets, and so whether they need scores,
// and how long a tail they can afford.
void plan_budgets(PrefillPlan& plan, const CacheView& cache) {
  plan.lanes.resize(cache.layout.shape.n_lanes());
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) plan.lanes[i].tail_kept = cache.tails[i].kept;
  const bool in_layer = plan.mode == PrefillMode::in_layer;
  if (!in_layer && plan.state_after != SegmentState::pending) return;
  const TokenSpan span = span_of(plan, cache);
  const std::size_t n_protected = cache.layout.pipeline.n_protected(span);
  std::vector<std::size_t> budgets(span.n_lanes);
  plan.budgets_known = cache.layout.pipeline.allocator().known(span, n_protected, budgets);
  if (!plan.budgets_known) return;
  const std::size_t short_tail = cache.layout.pipeline.short_tail();
  for (std::size_t i = 0, known = 0; i < plan.lanes.size(); ++i) {
    if (!cache.layout.takes_part(cache.layout.layer_of[i])) continue;
    LanePlan& lane = plan.lanes[i];
    lane.budget = budgets[known++];
    if (!in_layer) continue;  // text that waits may be given another budget: every lane is scored
    lane.tail_kept = lane.budget >= kLongTailBudget ? cache.layout.pipeline.tail() : short_tail;
    const std::size_t n_least = std::max(n_protected, kSinkTokens + lane.tail_kept);
    lane.is_scored = lane.budget > n_least && lane.budget < plan.n_tokens();
  }
}

void plan_lanes(PrefillPlan& plan, const CacheView& cache) {
  const std::size_t n = plan.n_tokens();
  const std::size_t n_new_sinks =
      std::min(n, kSinkTokens - std::min(kSinkTokens, cache.text.n_tokens));
  const std::size_t since = cache.since_flush + n - n_new_sinks;
  // Ragged lanes need no whole pages: everything older than the tails goes at once.
  plan.since_flush_after = plan.mode == PrefillMode::in_layer ? 0 : since % kFlushTokens;
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    LanePlan& lane = plan.lanes[i];
    lane.n_tail_before = cache.tails[i].n;
    lane.n_new_sinks = n_new_sinks;
    const std::size_t line = lane.n_tail_before + n - n_new_sinks;
    // A tail that may be longer from now on grows later.
    const std::size_t capacity = cache.tails[i].kept;
    lane.n_tail_after = std::min(line, std::min(capacity, lane.tail_kept) + plan.since_flush_after);
    lane.n_body = line - lane.n_tail_after;
  }
}

// Of the pages of a lane for the oldest n_head tokens of its tail, then n_new of `tier`, cut where
// the tier changes. Nothing pending is finer than `finest`.
std::size_t line_bytes(const CacheView& cache, std::size_t lane, std::size_t n_head,
                       std::size_t n_new, std::uint8_t tier, std::uint8_t finest) {
  const TokenShape token = cache.layout.layer(lane).token();
  const std::size_t first = cache.text.n_tokens - cache.tails[lane].n;
  std::size_t bytes = 0, n = 0;
  std::uint8_t now = tier;
  for (std::size_t at = 0; at < n_head; ++at) {
    const std::uint8_t here = cache.layout.tier_at(cache.text, first + at, finest);
    if (n > 0 && here != now) {
      bytes += cache.layout.body_bytes(now, token, n);
      n = 0;
    }
    now = here;
    ++n;
  }
  if (n > 0 && n_new > 0 && now != tier) {
    bytes += cache.layout.body_bytes(now, token, n);
    n = 0;
  }
  return bytes + cache.layout.body_bytes(n_new > 0 ? tier : now, token, n + n_new);
}

// In pages, of one lane's new tokens that are neither sinks nor tail. Where a lane begins to afford
// a long tail that is less: then what it was just before counts, so that no need falls.
std::size_t known_body(const PrefillPlan& plan, const LanePlan& lane, std::size_t n_protected,
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
void plan_decided_layer(PrefillPlan& plan, const CacheView& cache, std::size_t layer,
                        std::size_t total, std::size_t n_protected) {
  const LayerShape& shape = cache.layout.shape.layers[layer];
  const std::size_t first = cache.layout.first_lane[layer];
  std::size_t n_exact = 0, n_least = 0, n_known = 0;
  for (std::size_t i = first; i < first + shape.n_kv_heads; ++i) {
    const LanePlan& lane = plan.lanes[i];
    const std::size_t exact = std::min(plan.n_tokens(), lane.n_tail_after + lane.n_new_sinks);
    n_exact += exact;
    n_least += n_protected - std::min(n_protected, exact);
    n_known += known_body(plan, lane, n_protected, cache.layout.pipeline.short_tail());
    const std::size_t n_head = std::min(lane.n_body, lane.n_tail_before);
    plan.body_bytes += line_bytes(cache, i, n_head, 0, kTierRecipe, plan.finest);
  }
  const std::size_t n_body =
      plan.budgets_known ? n_known : std::max(total - std::min(total, n_exact), n_least);
  plan.body_bytes += ragged_bytes(cache, kTierRecipe, shape.token(), n_body, shape.n_kv_heads);
}

// Notes of the pages that a lane's part goes to, cut where it may be.
std::size_t notes_bytes(const CacheView& cache, std::size_t lane, std::size_t n_body) {
  const std::size_t n_pages = n_body / kernels::kPageTokens + kFlushRunsMax;
  return n_pages * Arena::rounded_up(cache.layout.note_bytes(cache.layout.layer(lane).head_dim));
}

// A layer's pages go to the far store before the next layer's are made; the text is read, and gone
// on with, layer by layer.
void plan_far_body(PrefillPlan& plan, const CacheView& cache) {
  std::size_t most = 0, notes = 0;
  for (std::size_t layer = 0; layer < cache.layout.shape.n_layers(); ++layer) {
    std::size_t bytes = 0;
    for (std::size_t i = cache.layout.first_lane[layer]; i < cache.layout.first_lane[layer + 1];
         ++i) {
      const LanePlan& lane = plan.lanes[i];
      const std::size_t n_head = std::min(lane.n_body, lane.n_tail_before);
      bytes += line_bytes(cache, i, n_head, lane.n_body - n_head, plan.tier, plan.finest);
      notes += notes_bytes(cache, i, lane.n_body);
    }
    most = std::max(most, bytes);
  }
  plan.body_bytes = cache.fetch_bytes + most + notes;
}

void plan_body(PrefillPlan& plan, const CacheView& cache) {
  if (cache.is_far) return plan_far_body(plan, cache);
  std::size_t n_protected = 0;
  if (plan.mode == PrefillMode::in_layer) {
    const TokenSpan span = span_of(plan, cache);
    plan.totals.resize(span.n_layers);
    n_protected = cache.layout.pipeline.n_protected(span);
    cache.layout.pipeline.allocator().totals(span, n_protected, plan.totals);
  }
  std::size_t taking_part = 0;
  for (std::size_t layer = 0; layer < cache.layout.shape.n_layers(); ++layer) {
    const LayerShape& shape = cache.layout.shape.layers[layer];
    const std::size_t first = cache.layout.first_lane[layer];
    if (plan.mode == PrefillMode::in_layer && cache.layout.takes_part(layer)) {
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
      plan.body_bytes += line_bytes(cache, i, n_head, n, plan.tier, plan.finest);
    }
  }
}

// Where a tail becomes short it goes to a page, and what it leaves to a smaller extent, before the
// old one is free: lane by lane, each with less than the one before it gave back.
std::size_t shortening_bytes(const PrefillPlan& plan, const CacheView& cache) {
  const std::size_t short_tail = cache.layout.pipeline.short_tail();
  if (short_tail >= cache.layout.pipeline.tail()) return 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    const TokenShape token = cache.layout.layer(i).token();
    const std::size_t n_flush =
        plan.lanes[i].n_tail_after - std::min(plan.lanes[i].n_tail_after, short_tail);
    most = std::max(most, CacheLayout::exact_bytes(token, short_tail) +
                              cache.layout.body_bytes(kTierRecipe, token, n_flush));
  }
  return most;
}

// A span that commit() decides: its tails go to pages when all lanes have given memory back.
void plan_settling(PrefillPlan& plan, const CacheView& cache) {
  const std::size_t n = plan.n_tokens();
  const bool settles = plan.state_after == SegmentState::pending && !cache.requirements().probe &&
                       cache.layout.pipeline.fires(TriggerEvent::span_read, n);
  if (!settles) return;
  std::size_t waiting = 0, old = 0;
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    const LanePlan& lane = plan.lanes[i];
    const TokenShape token = cache.layout.layer(i).token();
    const std::size_t window = cache.layout.layer(i).window;
    const std::size_t n_new = lane.n_body - std::min(lane.n_body, lane.n_tail_before);
    waiting +=
        cache.layout.body_bytes(plan.tier, token, window == 0 ? n_new : std::min(n_new, window));
    const std::size_t n_old = lane.n_tail_after - std::min(lane.n_tail_after, n);
    // Each may be of another tier than the one before.
    for (std::size_t n_page = 1; n_page <= std::min(n_old, kernels::kPageTokens); ++n_page)
      old = std::max(old, cache.layout.page_bytes(kTierExact, token, n_page));
    if (n_old > 0) plan.settle_bytes += old * kFlushRunsMax;
  }
  const std::size_t decided = decided_bytes(cache, plan.first_position, n);
  plan.settle_bytes += decided - std::min(decided, waiting) + shortening_bytes(plan, cache);
}

template <class Take>
void place_references(PrefillPlan& plan, const CacheView& cache, std::size_t n_kv_heads,
                      const Take& take) {
  plan.n_references = cache.layout.pipeline.n_references();
  if (plan.n_references == 0) return;
  const std::size_t n = plan.n_references, head_dim = cache.layout.shape.head_dim_max();
  plan.reference_bytes = aligned_64(n * (head_dim + 1) * sizeof(float));
  plan.references_at = take(n_kv_heads * plan.reference_bytes);
  // Where the indices of the layer's queries lie before.
  plan.merge_work_at = take(std::max(
      cache.layout.pipeline.merger().work_floats(plan.n_tokens(), head_dim) * sizeof(float),
      n_kv_heads * n * sizeof(std::int32_t)));
}

// What layers behind read of a shared one, as it was before anything was packed or merged.
template <class Take>
void place_held(PrefillPlan& plan, const CacheShape& shape, const Take& take) {
  const auto is_shared = [](const LayerShape& layer) { return layer.is_shared; };
  if (!std::any_of(shape.layers.begin(), shape.layers.end(), is_shared)) return;
  for (const LayerShape& layer : shape.layers)
    plan.held_at.push_back(
        take(layer.is_shared ? layer.n_kv_heads * exact_block_bytes(plan.n_tokens(), layer.token())
                             : 0));
}

void place_in_scratch(PrefillPlan& plan, const CacheView& cache, std::size_t n_slots) {
  std::size_t at = 0, n_kv_heads = 0, n_heads = 0, q_width = 0, lines = 0;
  const auto take = [&](std::size_t bytes) {
    const std::size_t begin = at;
    at += aligned_64(bytes);
    return begin;
  };
  const std::size_t n_line = plan.line_tokens();
  for (const LayerShape& layer : cache.layout.shape.layers) {
    n_heads = std::max(n_heads, layer.n_heads);
    q_width = std::max(q_width, layer.n_heads * layer.head_dim);
    n_kv_heads = std::max(n_kv_heads, layer.n_kv_heads);
    lines = std::max(lines, layer.n_kv_heads * exact_block_bytes(n_line, layer.token()));
  }
  plan.positions_at = take(plan.n_tokens() * sizeof(std::int32_t));
  plan.lines_at = take(lines);
  if (plan.mode == PrefillMode::in_layer) {
    plan.kept_at = take(lines);
    plan.indices_at = take(n_kv_heads * n_line * sizeof(std::int32_t));
    if (cache.layout.pipeline.needs_counts())
      plan.counts_at = take(n_kv_heads * n_line * sizeof(float));
    place_references(plan, cache, n_kv_heads, take);
  }
  place_held(plan, cache.layout.shape, take);
  if (n_slots > 0) {
    plan.scores_head_bytes = aligned_64(n_slots * sizeof(float));
    plan.scores_at = take(n_kv_heads * plan.scores_head_bytes);
  }
  if (plan.scores_prefill && plan.mode != PrefillMode::probe) {
    for (const LayerShape& layer : cache.layout.shape.layers)
      plan.state_bytes = std::max(
          plan.state_bytes,
          cache.layout.pipeline.scorer().state_floats(layer, plan.n_tokens()) * sizeof(float));
    plan.state_at = take(plan.state_bytes);
  }
  if (plan.n_block > 0) {
    // More than a block of this span may have: so the need does not fall where one block becomes
    // two.
    const std::size_t n = std::min(plan.n_tokens(), cache.requirements().block_tokens);
    plan.block_q_at = take(n * q_width * sizeof(float));
    plan.block_lse_at = take((n * n_heads + kBlockWork) * sizeof(float));
  }
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    LanePlan& lane = plan.lanes[i];
    lane.staged_at = take(exact_block_bytes(lane.n_new_sinks + n_staged_tail(plan, lane),
                                            cache.layout.layer(i).token()));
  }
  plan.scratch_bytes = Arena::rounded_up(at);
}

// Of a span in as few blocks as it takes, alike but for the last.
std::size_t even_blocks(std::size_t n_tokens, std::size_t most) {
  if (most == 0 || n_tokens == 0) return 0;
  const std::size_t n_blocks = (n_tokens + most - 1) / most;
  return (n_tokens + n_blocks - 1) / n_blocks;
}

}  // namespace

PrefillPlan plan_prefill(const CacheView& cache, const PrefillRequest& request,
                         std::uint8_t finest) {
  PrefillPlan plan{.request = request, .first_position = cache.text.n_tokens, .finest = finest};
  choose_mode(plan, cache, finest);
  if (plan.scores_prefill)
    plan.n_block = even_blocks(request.n_tokens, cache.requirements().block_tokens);
  plan_budgets(plan, cache);
  plan_lanes(plan, cache);
  plan_body(plan, cache);
  plan_settling(plan, cache);
  place_in_scratch(plan, cache, plan.scores_prefill ? request.n_tokens : 0);
  if (plan.stores_scores)
    plan.score_bytes = ScoreStore::bytes_for(
        cache.layout.shape.n_lanes(), request.n_tokens + cache.text.n_tokens % ScoreStore::kChunk);
  return plan;
}

// What is pending is as fine as asked where that fits, else 8 bits, else as the recipe will have
// it.
PrefillPlan plan_that_fits(const CacheView& cache, const PrefillRequest& request,
                           std::size_t free_bytes) {
  PrefillPlan plan;
  for (std::uint8_t finest = request.finest; finest <= kTierRecipe; ++finest) {
    plan = plan_prefill(cache, request, finest);
    if (plan.needed_bytes() <= free_bytes) break;
  }
  return plan;
}

PrefillPlan plan_probe(const CacheView& cache, std::size_t n_tokens, std::size_t first_position,
                       std::size_t n_slots) {
  PrefillPlan plan{.request = {.n_tokens = n_tokens},
                   .first_position = first_position,
                   .mode = PrefillMode::probe,
                   .scores_prefill = true,
                   .stores_scores = true};
  place_in_scratch(plan, cache, n_slots);
  return plan;
}

// Slots of the pages that a piece touches, of sinks and tail, as begin_probe() counts them.
std::size_t probe_bytes(const CacheView& cache, std::size_t n_waiting) {
  if (!cache.requirements().probe || n_waiting == 0) return 0;
  constexpr std::size_t kPage = kernels::kPageTokens;
  const std::size_t n = std::min(n_waiting, kProbeTokens);
  const std::size_t n_slots = (n / kPage + 2) * kPage + kSinkTokens + kTailTokens + kFlushTokens;
  const PrefillPlan probe = plan_probe(cache, n + kProbeScript, cache.text.n_tokens, n_slots);
  return probe.scratch_bytes +
         ScoreStore::bytes_for(cache.layout.shape.n_lanes(), n_waiting + ScoreStore::kChunk);
}

}  // namespace satchel::kvcache
