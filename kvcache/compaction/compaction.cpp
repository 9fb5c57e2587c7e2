#include "kvcache/compaction/compaction.h"

#include <algorithm>
#include <limits>

#include "kvcache/reading/reading_plan.h"

namespace satchel::kvcache {

Compaction::Compaction(CacheState& cache) : cache_(cache) {
  if (cache_.has_reserve) cache_.arena.give(cache_.reserve);
  cache_.has_reserve = false;
  for (const Lane& lane : cache_.lanes) tail_kept_.push_back(lane.tail_kept());
}

Compaction::~Compaction() {
  cache_.retake_reserve();
  (void)cache_.show_all_if_stale();  // what fails here is tried again by the next call
}

Compaction::Fate Compaction::fate_of(const TextSpan& span, Occasion occasion) const {
  const Pipeline& pipeline = cache_.pipeline;
  const ScorerWants wants = cache_.wants();
  const bool ever = pipeline.fires({.occasion = Occasion::asked, .n_tokens = span.n_tokens});
  // Nobody scored what the model said itself, unless a second pass does; nor has what waited exact K
  // and V any more.
  if (!ever || wants.exact_kv || (span.kind == SpanKind::answer && !wants.probe))
    return Fate::lower;
  if (wants.probe && span.n_probed < span.n_tokens)
    return occasion == Occasion::over_limit ? Fate::lower_and_wait : Fate::wait;
  return pipeline.fires({.occasion = occasion, .n_tokens = span.n_tokens}) ? Fate::decide
                                                                           : Fate::wait;
}

// What a second pass has seen is a text of its own where the rest cannot be waited for.
void Compaction::cut_probed() {
  for (std::size_t i = 0; i < cache_.spans.size(); ++i) {
    TextSpan& span = cache_.spans[i];
    if (span.state != SpanState::pending || span.n_probed == 0 || span.n_probed >= span.n_tokens)
      continue;
    TextSpan rest = span;
    rest.first += span.n_probed;
    rest.n_tokens -= span.n_probed;
    rest.n_probed = 0;
    span.n_tokens = span.n_probed;
    cache_.spans.insert(cache_.spans.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
  }
}

Result<CompactionReport> Compaction::settle(Occasion occasion) {
  if (occasion == Occasion::over_limit) cut_probed();
  for (std::size_t i = 0; i < cache_.spans.size(); ++i) {
    const TextSpan span = cache_.spans[i];
    if (span.state != SpanState::pending) continue;
    const Fate fate = fate_of(span, occasion);
    if (fate == Fate::wait) continue;
    if (fate == Fate::decide) {
      SATCHEL_TRY(decide_span(span));
      ++report_.n_spans;
    } else {
      SATCHEL_TRY(lower_span(span));
      if (fate == Fate::lower_and_wait) continue;
    }
    cache_.spans[i].state = SpanState::done;
  }
  cache_.forget_scores();
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

Result<void> Compaction::lower_span(const TextSpan& span) {
  const LaneRewriter::TierOf tier_of = [&](std::size_t position, std::uint8_t tier) {
    return position >= span.first && position < span.end() ? std::max(tier, kTierRecipe) : tier;
  };
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) SATCHEL_TRY(rewrite(i, tier_of, 0));
  return {};
}

Result<CompactionReport> Compaction::lower_held() {
  if (cache_.recipe_is_exact) return report_;
  const LaneRewriter::TierOf tier_of = [](std::size_t, std::uint8_t tier) {
    return std::max(tier, kTierEight);
  };
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) SATCHEL_TRY(rewrite(i, tier_of, 0));
  cache_.reserve_lists();
  SATCHEL_TRY(cache_.show_all_if_stale());
  return report_;
}

// Finished by the scorer layer by layer, filtered.
Result<void> Compaction::load_scores(const TokenSpan& span, const ScoresOf& scores_of,
                                     std::vector<LaneDecision>& lanes) {
  const std::size_t n = span.n_tokens;
  for (std::size_t layer = 0; layer < cache_.shape.n_layers(); ++layer) {
    if (!cache_.takes_part(layer)) continue;
    const std::size_t begin = lanes.size();
    for (std::size_t i = cache_.first_lane[layer]; i < cache_.first_lane[layer + 1]; ++i) {
      lanes.push_back({.lane = i, .layer = layer, .scores = std::vector<float>(n)});
      SATCHEL_TRY(scores_of(i, span, lanes.back().scores));
    }
    std::vector<ScoredLane> scored;
    for (std::size_t i = begin; i < lanes.size(); ++i)
      scored.push_back({.scores = lanes[i].scores});
    SATCHEL_TRY(
        cache_.pipeline.scorer().finish(cache_.backend, cache_.shape.layers[layer], span, scored));
  }
  for (LaneDecision& lane : lanes) {
    SATCHEL_TRY(mark_missing(span, lane));
    cache_.pipeline.filter(span, lane.scores);
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
    if (position >= span.first_position && position < span.first_position + span.n_tokens)
      held[position - span.first_position] = true;
  };
  const Lane& of = cache_.lanes[lane.lane];
  for (std::size_t t = 0; t < of.n_sinks(); ++t) hold(t);
  for (std::size_t t = cache_.n_tokens - of.n_tail(); t < cache_.n_tokens; ++t) hold(t);
  std::array<std::int32_t, kernels::kPageTokens> positions;
  for (const PageRecord& page : of.pages()) {
    SATCHEL_TRY(cache_.read_positions(page, positions));
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (page.live.has(slot)) hold(static_cast<std::size_t>(positions[slot]));
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const std::size_t position = span.first_position + i;
    const bool stays = position < kSinkTokens || cache_.is_protected(position);
    if (!held[i]) {
      lane.scores[i] = kNotThere;
    } else if (stays) {
      lane.scores[i] = kNeverEvict;
    }
  }
  return {};
}

void Compaction::share_out(const TokenSpan& span, std::vector<LaneDecision>& lanes) const {
  const Pipeline& pipeline = cache_.pipeline;
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
    const std::size_t n = cache_.layer(lanes[begin].lane).n_kv_heads;
    of_layer.first_lane = begin;
    decide(pipeline, of_layer, totals[layer], std::span(lanes).subspan(begin, n));
    begin += n;
  }
}

// Where a recipe lets poor lanes have a short tail, lanes that keep less than two long ones get it.
// A tail is exact, so what a lane's tail holds is kept, and counts.
void Compaction::choose_tails(const TokenSpan& span, std::vector<LaneDecision>& lanes) {
  const std::size_t short_tail = cache_.pipeline.short_tail();
  for (LaneDecision& lane : lanes) {
    if (short_tail < cache_.pipeline.tail())
      tail_kept_[lane.lane] = lane.budget >= kLongTailBudget ? cache_.pipeline.tail() : short_tail;
    const std::size_t tail = std::min(tail_kept_[lane.lane], cache_.lanes[lane.lane].n_tail());
    const std::size_t first = cache_.n_tokens - tail;
    for (std::size_t i = 0; i < span.n_tokens; ++i)
      if (span.first_position + i >= first) lane.scores[i] = kNeverEvict;
  }
  assign(cache_.pipeline, lanes);
}

Result<void> Compaction::decide_span(const TextSpan& text) {
  const TokenSpan span = cache_.token_span(text.first, text.n_tokens);
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(stored_scores(span, lanes));
  share_out(span, lanes);
  choose_tails(span, lanes);
  return apply(span, lanes);
}

// All text that may go shares what its share gives, beside all that may not.
Result<CompactionReport> Compaction::decide_all_text() {
  std::size_t n_may_go = 0;
  for (const TextSpan& text : cache_.spans)
    if (text.kind != SpanKind::kept && text.state != SpanState::open) n_may_go += text.n_tokens;
  TokenSpan span = cache_.token_span(0, cache_.n_tokens);
  const double stays = static_cast<double>(cache_.n_tokens - n_may_go);
  span.keep = (cache_.pipeline.keep() * static_cast<double>(n_may_go) + stays) /
              static_cast<double>(cache_.n_tokens);
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(stored_scores(span, lanes));
  share_out(span, lanes);
  choose_tails(span, lanes);
  ++report_.n_spans;
  SATCHEL_TRY(apply(span, lanes));
  cache_.reserve_lists();
  SATCHEL_TRY(cache_.show_all_if_stale());
  return report_;
}

// Lanes that took part get their tiers; then all tails are flushed, so that they go on in one rhythm:
// first what makes room, then what takes it.
Result<void> Compaction::apply(const TokenSpan& span, std::vector<LaneDecision>& lanes) {
  std::vector<const LaneDecision*> of_lane(cache_.lanes.size());
  for (const LaneDecision& lane : lanes) of_lane[lane.lane] = &lane;
  std::size_t now = 0;
  const LaneRewriter::TierOf tier_of = [&](std::size_t position, std::uint8_t tier) {
    const bool inside =
        position >= span.first_position && position < span.first_position + span.n_tokens;
    // Kept text and the open turn are only held, not compressed; so is what this is not about.
    if (!inside || cache_.is_protected(position)) {
      const bool in_tail = position >= cache_.n_tokens - cache_.lanes[now].n_tail();
      return in_tail ? cache_.tier_at(position) : tier;
    }
    // A window bounds its lane anyway.
    if (of_lane[now] == nullptr) return std::max(tier, kTierRecipe);
    const std::uint8_t to = of_lane[now]->tiers[position - span.first_position];
    if (to == kGone) return kGone;
    return std::max<std::uint8_t>(tier, static_cast<std::uint8_t>(kTierRecipe + to));
  };
  for (now = 0; now < cache_.lanes.size(); ++now) SATCHEL_TRY(rewrite(now, tier_of, 0));
  for (now = 0; now < cache_.lanes.size(); ++now) {
    const Lane& lane = cache_.lanes[now];
    const std::size_t n_flush = lane.n_tail() - std::min(lane.n_tail(), tail_kept_[now]);
    if (n_flush > 0) SATCHEL_TRY(rewrite(now, tier_of, n_flush));
    if (tail_kept_[now] != lane.tail_kept()) SATCHEL_TRY(cache_.fit_exact(now, tail_kept_[now]));
  }
  cache_.since_flush = 0;
  return cache_.drop_behind_windows();
}

Result<void> CacheState::decide_all_text() {
  const Result<CompactionReport> report = Compaction(*this).decide_all_text();
  return report.ok() ? Result<void>() : Result<void>(report.error());
}

Error CacheState::lose_all(Error error) {
  clear();
  return error;
}

// Where the arena is too full for a moment it is tried again after the next compaction.
void CacheState::retake_reserve() {
  if (has_reserve) return;
  const Result<ExtentId> taken = arena.take(reserve_bytes(shape, layouts, pipeline));
  if (!taken.ok()) return;
  reserve = *taken;
  has_reserve = true;
}

// Scores are needed for what is pending, or for all text where decoding goes on scoring.
void CacheState::forget_scores() {
  if (wants().decoding) return scores.keep_only(0, n_tokens);
  std::size_t first = std::numeric_limits<std::size_t>::max(), end = 0;
  for (const TextSpan& span : spans) {
    if (span.state == SpanState::done) continue;
    first = std::min(first, span.first);
    end = std::max(end, span.end());
  }
  scores.keep_only(std::min(first, end), end);
}

Result<void> CacheState::fit_exact(std::size_t index, std::size_t tail_kept) {
  Lane& lane = lanes[index];
  if (tail_kept == lane.tail_kept()) return {};
  const Lane::Room room{.n_sinks = kSinkTokens, .n_tail = tail_kept + kFlushTokens};
  SATCHEL_ASSERT(lane.n_tail() <= room.n_tail);
  const std::size_t bytes = Lane::exact_bytes(lane.head_dim(), room);
  if (!arena.check_free(bytes).ok()) return {};  // later, then
  SATCHEL_TRY_ASSIGN(const ExtentId extent, arena.take(bytes));
  const ExactBlock sinks = exact_block(arena.at(extent), room.n_sinks, lane.head_dim());
  const ExactBlock tail =
      exact_block(arena.at(extent) + exact_block_bytes(room.n_sinks, lane.head_dim()), room.n_tail,
                  lane.head_dim());
  const auto moved = [&]() -> Result<void> {
    SATCHEL_TRY(copy_exact(backend, lane.head_dim(), {lane.sinks(), 0, sinks, 0, lane.n_sinks()}));
    return copy_exact(backend, lane.head_dim(), {lane.tail(), 0, tail, 0, lane.n_tail()});
  }();
  if (!moved.ok()) {
    arena.give(extent);
    return moved.error();
  }
  const ExtentId old = lane.exact_extent();
  lane.set_exact(extent, room, tail_kept);
  arena.give(old);
  return show(index);
}

Result<CompactionReport> Cache::compact(Occasion occasion) {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr);
  s.undo_open_step();
  SATCHEL_TRY(s.flush_if_due());
  SATCHEL_TRY_ASSIGN(CompactionReport report, Compaction(s).settle(occasion));
  if (occasion != Occasion::over_limit) return report;
  SATCHEL_TRY_ASSIGN(const CompactionReport held, Compaction(s).lower_held());
  report.n_lowered += held.n_lowered;
  return report;
}

// What a second pass looks at goes together: a turn, and turns before it that wait as well.
Result<CompactionReport> Cache::end_turn() {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr);
  s.undo_open_step();
  const bool together = s.wants().probe;
  for (std::size_t i = 0; i < s.spans.size(); ++i) {
    TextSpan& span = s.spans[i];
    if (span.state != SpanState::open) continue;
    span.state = SpanState::pending;
    TextSpan* before = i > 0 ? &s.spans[i - 1] : nullptr;
    const bool joins = together && before != nullptr && before->state == SpanState::pending &&
                       before->kind != SpanKind::document && before->n_probed == 0;
    if (!joins) continue;
    before->n_tokens += span.n_tokens;
    s.spans.erase(s.spans.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  SATCHEL_TRY(s.flush_if_due());
  return Compaction(s).settle(Occasion::turn_ended);
}

}  // namespace satchel::kvcache
