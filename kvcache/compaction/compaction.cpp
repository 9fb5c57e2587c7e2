#include "kvcache/compaction/compaction.h"

#include <algorithm>

#include "kvcache/planning/plan_prefill.h"

namespace satchel::kvcache {
namespace {

// A turn's work is not to grow with the text before it, so only pages with some of it are read.
LaneRewriter::Takes pages_of(std::size_t first, std::size_t end) {
  return [first, end](const PageRecord& page) { return page.overlaps(first, end); };
}

}  // namespace

Compaction::Compaction(CacheState& cache) : cache_(cache) {
  if (cache_.has_reserve) cache_.arena.give(cache_.reserve);
  cache_.has_reserve = false;
  for (const Lane& lane : cache_.lanes) tail_kept_.push_back(lane.tail_kept());
}

Compaction::~Compaction() {
  cache_.retake_reserve();
  (void)cache_.show_all_if_stale();  // what fails here is tried again by the next call
}

Compaction::Decision Compaction::decision_of(const TextSegment& segment, TriggerEvent event) const {
  const Pipeline& pipeline = cache_.layout.pipeline;
  const ScorerRequirements requirements = cache_.requirements();
  const bool ever = pipeline.fires(TriggerEvent::asked, segment.n_tokens);
  // Answers are scored by a second pass only; and what was pending has no exact K and V any more.
  if (!ever || requirements.exact_kv ||
      (segment.kind == SegmentKind::answer && !requirements.probe))
    return Decision::lower;
  if (requirements.probe && segment.n_probed < segment.n_tokens)
    return event == TriggerEvent::over_limit ? Decision::lower_and_wait : Decision::wait;
  return pipeline.fires(event, segment.n_tokens) ? Decision::decide : Decision::wait;
}

// What a second pass has seen is a text of its own where the rest cannot be waited for.
void Compaction::cut_probed() {
  for (std::size_t i = 0; i < cache_.text.segments.size(); ++i) {
    TextSegment& segment = cache_.text.segments[i];
    if (segment.state != SegmentState::pending || segment.n_probed == 0 ||
        segment.n_probed >= segment.n_tokens)
      continue;
    TextSegment rest = segment;
    rest.first += segment.n_probed;
    rest.n_tokens -= segment.n_probed;
    rest.n_probed = 0;
    segment.n_tokens = segment.n_probed;
    cache_.text.segments.insert(cache_.text.segments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                rest);
  }
}

Result<CompactionReport> Compaction::settle(TriggerEvent event) {
  if (event == TriggerEvent::over_limit) cut_probed();
  for (std::size_t i = 0; i < cache_.text.segments.size(); ++i) {
    const TextSegment segment = cache_.text.segments[i];
    if (segment.state != SegmentState::pending) continue;
    const Decision decision = decision_of(segment, event);
    if (decision == Decision::wait) continue;
    if (decision == Decision::decide) {
      SATCHEL_TRY(decide_tokens(cache_.token_span(segment.first, segment.n_tokens)));
    } else {
      SATCHEL_TRY(lower_segment(segment));
      if (decision == Decision::lower_and_wait) continue;
    }
    cache_.text.segments[i].state = SegmentState::done;
  }
  cache_.forget_scores();
  return finished();
}

Result<CompactionReport> Compaction::finished() {
  cache_.reserve_lists();
  SATCHEL_TRY(cache_.show_all_if_stale());
  return report_;
}

Result<void> Compaction::rewrite(std::size_t lane, const LaneRewriter::TierOf& tier_of,
                                 std::size_t n_flush, const LaneRewriter::Takes& takes) {
  changed_.push_back(lane);
  LaneRewriter rewriter(cache_, lane, tier_of);
  const auto work = [&]() -> Result<void> {
    if (n_flush > 0) return rewriter.flush_tail(n_flush);
    SATCHEL_TRY(rewriter.rewrite_pages(takes));
    return rewriter.finish();
  };
  const Result<void> done = work();
  report_.n_evicted += rewriter.n_evicted();
  report_.n_lowered += rewriter.n_lowered();
  return done;
}

Result<void> Compaction::lower_segment(const TextSegment& segment) {
  const LaneRewriter::TierOf tier_of = [&](std::size_t position, std::uint8_t tier) {
    return segment.contains(position) ? std::max(tier, kTierRecipe) : tier;
  };
  const auto takes = pages_of(segment.first, segment.end());
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) SATCHEL_TRY(rewrite(i, tier_of, 0, takes));
  return {};
}

Result<CompactionReport> Compaction::lower_held() {
  if (cache_.layout.recipe_is_exact) return report_;
  const LaneRewriter::TierOf tier_of = [](std::size_t, std::uint8_t tier) {
    return std::max(tier, kTierEight);
  };
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) SATCHEL_TRY(rewrite(i, tier_of, 0));
  return finished();
}

// Finished by the scorer layer by layer, filtered.
Result<void> Compaction::load_scores(const TokenSpan& span, const ScoresOf& scores_of,
                                     std::vector<LaneDecision>& lanes) {
  const std::size_t n = span.n_tokens;
  for (std::size_t layer = 0; layer < cache_.layout.shape.n_layers(); ++layer) {
    if (!cache_.layout.takes_part(layer)) continue;
    const std::size_t begin = lanes.size();
    for (std::size_t i = cache_.layout.first_lane[layer]; i < cache_.layout.first_lane[layer + 1];
         ++i) {
      lanes.push_back({.lane = i, .layer = layer, .scores = std::vector<float>(n)});
      SATCHEL_TRY(scores_of(i, span, lanes.back().scores));
    }
    std::vector<ScoredLane> scored;
    for (std::size_t i = begin; i < lanes.size(); ++i)
      scored.push_back({.scores = lanes[i].scores});
    SATCHEL_TRY(cache_.layout.pipeline.scorer().finish(
        cache_.backend, cache_.layout.shape.layers[layer], span, scored));
  }
  for (LaneDecision& lane : lanes) {
    SATCHEL_TRY(mark_missing(span, lane));
    cache_.layout.pipeline.filter(span, lane.scores);
  }
  return {};
}

// Those that were collected.
Result<void> Compaction::stored_scores(const TokenSpan& span, std::vector<LaneDecision>& lanes) {
  const auto stored = [this](std::size_t lane, const TokenSpan& of, std::span<float> scores) {
    return cache_.scores.read(lane, of.first_position, scores);
  };
  return load_scores(span, stored, lanes);
}

// What the lane does not hold any more is no candidate; sinks always stay.
Result<void> Compaction::mark_missing(const TokenSpan& span, LaneDecision& lane) {
  std::vector<bool> held(span.n_tokens);
  const auto hold = [&](std::size_t position) {
    if (span.contains(position)) held[position - span.first_position] = true;
  };
  const Lane& of = cache_.lanes[lane.lane];
  for (std::size_t t = 0; t < of.n_sinks(); ++t) hold(t);
  for (std::size_t t = cache_.text.n_tokens - of.n_tail(); t < cache_.text.n_tokens; ++t) hold(t);
  std::array<std::int32_t, kernels::kPageTokens> positions;
  for (const PageRecord& page : of.pages()) {
    if (!page.overlaps(span.first_position, span.first_position + span.n_tokens)) continue;
    SATCHEL_TRY(cache_.read_positions(page, positions));
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (page.live.has(slot)) hold(static_cast<std::size_t>(positions[slot]));
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const std::size_t position = span.first_position + i;
    const bool stays = position < kSinkTokens || cache_.text.is_protected(position);
    if (!held[i]) {
      lane.scores[i] = kNotThere;
    } else if (stays) {
      lane.scores[i] = kNeverEvict;
    }
  }
  return {};
}

void Compaction::allocate(const TokenSpan& span, std::vector<LaneDecision>& lanes) const {
  const Pipeline& pipeline = cache_.layout.pipeline;
  if (lanes.empty()) return;  // windows everywhere
  std::vector<std::size_t> totals(span.n_layers);
  pipeline.allocator().totals(span, pipeline.n_protected(span), totals);
  if (pipeline.allocator().scope() == Allocator::Scope::cache) {
    std::size_t total = 0;
    for (const std::size_t of_layer : totals) total += of_layer;
    decide(pipeline, span, total, lanes);
    return;
  }
  TokenSpan of_layer = span;
  for (std::size_t begin = 0, layer = 0; begin < lanes.size(); ++layer) {
    const std::size_t n = cache_.layout.layer(lanes[begin].lane).n_kv_heads;
    of_layer.first_lane = begin;
    decide(pipeline, of_layer, totals[layer], std::span(lanes).subspan(begin, n));
    begin += n;
  }
}

// Where a recipe lets poor lanes have a short tail, lanes that keep less than two long ones get it.
// A tail is exact, so what a lane's tail holds is kept, and counts.
void Compaction::choose_tails(const TokenSpan& span, std::vector<LaneDecision>& lanes) {
  const std::size_t short_tail = cache_.layout.pipeline.short_tail();
  for (LaneDecision& lane : lanes) {
    if (short_tail < cache_.layout.pipeline.tail())
      tail_kept_[lane.lane] =
          lane.budget >= kLongTailBudget ? cache_.layout.pipeline.tail() : short_tail;
    const std::size_t tail = std::min(tail_kept_[lane.lane], cache_.lanes[lane.lane].n_tail());
    const std::size_t first = cache_.text.n_tokens - tail;
    for (std::size_t i = 0; i < span.n_tokens; ++i)
      if (span.first_position + i >= first) lane.scores[i] = kNeverEvict;
  }
  assign(cache_.layout.pipeline, lanes);
}

Result<void> Compaction::decide_tokens(const TokenSpan& span) {
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(stored_scores(span, lanes));
  allocate(span, lanes);
  choose_tails(span, lanes);
  SATCHEL_TRY(apply(span, lanes));
  ++report_.n_segments;
  return {};
}

// All text that may go shares what its share gives, beside all that may not.
Result<CompactionReport> Compaction::decide_all_text() {
  std::size_t n_may_go = 0;
  for (const TextSegment& text : cache_.text.segments)
    if (text.kind != SegmentKind::pinned && text.state != SegmentState::open)
      n_may_go += text.n_tokens;
  TokenSpan span = cache_.token_span(0, cache_.text.n_tokens);
  const double stays = static_cast<double>(cache_.text.n_tokens - n_may_go);
  span.keep = (cache_.layout.pipeline.keep() * static_cast<double>(n_may_go) + stays) /
              static_cast<double>(cache_.text.n_tokens);
  SATCHEL_TRY(decide_tokens(span));
  return finished();
}

// Lanes that took part get their tiers; then all tails are flushed, so that they go on in one
// rhythm: first what gives memory back, then what takes it.
Result<void> Compaction::apply(const TokenSpan& span, std::vector<LaneDecision>& lanes) {
  std::vector<const LaneDecision*> of_lane(cache_.lanes.size());
  for (const LaneDecision& lane : lanes) of_lane[lane.lane] = &lane;
  std::size_t now = 0;
  const LaneRewriter::TierOf tier_of = [&](std::size_t position, std::uint8_t tier) {
    // Pinned text and the open turn are only held, not compressed; so is what this is not about.
    if (!span.contains(position) || cache_.text.is_protected(position)) {
      const bool in_tail = position >= cache_.text.n_tokens - cache_.lanes[now].n_tail();
      return in_tail ? cache_.tier_at(position) : tier;
    }
    // A window bounds its lane anyway.
    if (of_lane[now] == nullptr) return std::max(tier, kTierRecipe);
    const std::uint8_t to = of_lane[now]->tiers[position - span.first_position];
    if (to == kGone) return kGone;
    return std::max<std::uint8_t>(tier, static_cast<std::uint8_t>(kTierRecipe + to));
  };
  const auto takes = pages_of(span.first_position, span.first_position + span.n_tokens);
  for (now = 0; now < cache_.lanes.size(); ++now) SATCHEL_TRY(rewrite(now, tier_of, 0, takes));
  for (now = 0; now < cache_.lanes.size(); ++now) {
    const Lane& lane = cache_.lanes[now];
    const std::size_t n_flush = lane.n_tail() - std::min(lane.n_tail(), tail_kept_[now]);
    if (n_flush > 0) SATCHEL_TRY(rewrite(now, tier_of, n_flush));
    if (tail_kept_[now] != lane.tail_kept()) SATCHEL_TRY(cache_.fit_exact(now, tail_kept_[now]));
  }
  cache_.since_flush = 0;
  return cache_.drop_behind_windows();
}

Result<std::vector<std::vector<std::size_t>>> Compaction::budgets(const TextSegment& text,
                                                                  std::span<const double> keeps) {
  TokenSpan span = cache_.token_span(text.first, text.n_tokens);
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(stored_scores(span, lanes));
  std::vector<std::vector<std::size_t>> out;
  for (const double keep : keeps) {
    span.keep = keep;
    allocate(span, lanes);
    std::vector<std::size_t>& row = out.emplace_back();
    for (const LaneDecision& lane : lanes) row.push_back(lane.budget);
  }
  return out;
}

}  // namespace satchel::kvcache
