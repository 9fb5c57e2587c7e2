// CacheForecast: a prefill, as pack_layer.cpp and move_in.cpp do it, counted.
#include <algorithm>
#include <numeric>

#include "kvcache/lanes/score_store.h"
#include "kvcache/planning/cache_forecast.h"
#include "kvcache/planning/plan_prefill.h"

namespace satchel::kvcache {
namespace {

void add_run(std::vector<PlannedRun>& out, std::uint8_t tier, std::size_t n) {
  if (n == 0) return;
  if (out.empty() || out.back().tier != tier) out.push_back({.tier = tier});
  out.back().n_tokens += n;
}

}  // namespace

void CacheForecast::add_pages(std::size_t lane, const PlannedRun& run) {
  if (run.n_tokens == 0) return;
  held_bytes_ += layout_.body_bytes(run.tier, layout_.layer(lane).token(), run.n_tokens);
  runs_[lane].push_back(run);
}

PlannedRun CacheForecast::take_pages(std::size_t lane, std::size_t first, std::uint8_t tier_end) {
  PlannedRun taken;
  for (PlannedRun& run : runs_[lane]) {
    if (run.last_position < first || run.tier >= tier_end) continue;
    const std::size_t n_left = run.n_before(first);
    const TokenShape token = layout_.layer(lane).token();
    held_bytes_ -= layout_.body_bytes(run.tier, token, run.n_tokens);
    held_bytes_ += layout_.body_bytes(run.tier, token, n_left);
    taken.last_position = std::max(taken.last_position, run.last_position);
    taken.n_tokens += run.n_tokens - n_left;
    run.last_position -= run.n_tokens - n_left;
    run.n_tokens = n_left;
  }
  std::erase_if(runs_[lane], [](const PlannedRun& run) { return run.n_tokens == 0; });
  return taken;
}

void CacheForecast::forget_decided() {
  const auto first = std::ranges::find_if(text_.segments, &TextSegment::waits);
  const std::size_t end = first == text_.segments.end() ? text_.n_tokens : first->first;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (layout_.layer(i).window == 0)
      std::erase_if(runs_[i], [end](const PlannedRun& run) { return run.last_position < end; });
}

void CacheForecast::keep_tail(std::size_t lane, std::size_t tail_kept) {
  held_bytes_ -= exact_bytes(lane, tails_[lane].kept);
  held_bytes_ += exact_bytes(lane, tail_kept);
  tails_[lane].kept = tail_kept;
}

// All of the line but sinks, the new tail and what no later query sees.
std::vector<PlannedRun> CacheForecast::runs_of_line(const PrefillPlan& plan,
                                                    std::size_t lane) const {
  const LanePlan& part = plan.lanes[lane];
  const std::size_t window = layout_.layer(lane).window, end = text_.n_tokens + plan.n_tokens();
  const std::size_t begin = text_.n_tokens - part.n_tail_before + part.n_new_sinks;
  const std::size_t seen = window == 0 || end < window ? 0 : end - window + 1;
  std::vector<PlannedRun> out;
  for (std::size_t at = std::max(begin, seen); at < std::min(begin + part.n_body, text_.n_tokens);
       ++at)
    add_run(out, layout_.tier_at(text_, at, plan.finest), 1);
  add_run(out, plan.tier,
          saturating_sub(begin + part.n_body, std::max({begin, seen, text_.n_tokens})));
  return out;
}

// The old tail, all of it, and what the recipe keeps of the new tokens.
std::vector<PlannedRun> CacheForecast::runs_of_kept(const PrefillPlan& plan, std::size_t lane,
                                                    std::size_t budget) {
  const LanePlan& part = plan.lanes[lane];
  const std::size_t begin = text_.n_tokens - part.n_tail_before + part.n_new_sinks;
  std::vector<PlannedRun> out;
  for (std::size_t at = begin; at < std::min(begin + part.n_body, text_.n_tokens); ++at)
    add_run(out, layout_.tier_at(text_, at, plan.finest), 1);
  const auto& counts = body_by_tier(view().token_span(text_.n_tokens, plan.n_tokens()),
                                    {.n_first = part.n_new_sinks,
                                     .n_last = std::min(plan.n_tokens(), part.n_tail_after),
                                     .budget = budget});
  for (std::size_t tier = 0; tier < counts.size(); ++tier)
    add_run(out, static_cast<std::uint8_t>(kTierRecipe + tier), counts[tier]);
  return out;
}

void CacheForecast::prefill(const PrefillPlan& plan, std::size_t other_bytes) {
  const bool in_layer = plan.mode == PrefillMode::in_layer;
  const std::vector<std::size_t> budgets =
      in_layer ? budgets_of(view().token_span(text_.n_tokens, plan.n_tokens()))
               : std::vector<std::size_t>();
  for (std::size_t i = 0, part = 0; i < runs_.size(); ++i) {
    const bool decided = in_layer && layout_.takes_part(layout_.layer_of[i]);
    std::vector<PlannedRun> added =
        decided ? runs_of_kept(plan, i, budgets[part++]) : runs_of_line(plan, i);
    std::size_t left =
        std::accumulate(added.begin(), added.end(), std::size_t{0},
                        [](std::size_t sum, const PlannedRun& run) { return sum + run.n_tokens; });
    const std::size_t body_end = text_.n_tokens + plan.n_tokens() - plan.lanes[i].n_tail_after;
    for (PlannedRun& run : added) {
      left -= run.n_tokens;
      run.last_position = saturating_sub(body_end, left + 1);
      add_pages(i, run);
    }
    tails_[i].n = plan.lanes[i].n_tail_after;
  }
  since_flush_ = plan.since_flush_after;
  has_scores_ = has_scores_ || plan.stores_scores;
  text_.extend(plan.request, plan.state_after, layout_.requirements().probe);
  for (std::size_t i = 0; i < runs_.size(); ++i)
    fit_exact(i, plan.lanes[i].tail_kept, other_bytes + plan.scratch_bytes);
  drop_behind_windows();
  const bool decides = plan.state_after == SegmentState::pending && !layout_.requirements().probe &&
                       layout_.pipeline.fires(TriggerEvent::span_read, plan.n_tokens());
  if (decides) decide_text(text_.segments.back());
  if (!text_.segments.back().waits()) forget_decided();
  has_scores_ = has_scores_ && (layout_.requirements().decoding ||
                                text_.segments.back().state == SegmentState::pending);
}

// As CacheState's: later, where both do not fit.
void CacheForecast::fit_exact(std::size_t lane, std::size_t tail_kept, std::size_t beside) {
  if (tail_kept == tails_[lane].kept) return;
  if (exact_bytes(lane, tail_kept) + beside > free_bytes()) return;
  keep_tail(lane, tail_kept);
}

void CacheForecast::drop_behind_windows() {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::size_t window = layout_.layer(i).window;
    if (window == 0 || text_.n_tokens < window) continue;
    for (PlannedRun& run : runs_[i]) {
      const std::size_t n_gone = run.n_before(text_.n_tokens - window + 1);
      held_bytes_ -= layout_.body_bytes(run.tier, layout_.layer(i).token(), n_gone);
      run.n_tokens -= n_gone;
    }
    std::erase_if(runs_[i], [](const PlannedRun& run) { return run.n_tokens == 0; });
  }
}

CacheForecast::CacheForecast(const CacheLayout& layout, const MemoryPlanner::Memory& memory)
    : layout_(layout),
      tails_(layout.shape.n_lanes(), LaneTail{.kept = layout.pipeline.tail()}),
      memory_(memory),
      runs_(layout.shape.n_lanes()),
      held_bytes_(layout.fixed_bytes()) {}

PrefillPlan CacheForecast::largest_fit(const PrefillRequest& request, const PassBytes& pass) const {
  return kvcache::largest_fit(view(), request, pass, free_bytes());
}

void CacheForecast::prefill(const PrefillRequest& request, std::size_t other_bytes) {
  SATCHEL_ASSERT(request.n_tokens > 0);
  prefill(plan_that_fits(view(), request, saturating_sub(free_bytes(), other_bytes)), other_bytes);
}

void CacheForecast::prefill_text(std::size_t n_all, const PassBytes& pass) {
  while (text_.n_tokens < n_all) {
    const std::size_t n_left = n_all - text_.n_tokens;
    PrefillRequest request =
        largest_fit({.n_tokens = n_left, .goes_on = text_.n_tokens > 0}, pass).request;
    if (request.n_tokens < std::min(n_left, kSpanShort)) {
      if (decide()) continue;
      request.n_tokens = std::min(n_left, kSpanWanted);
    }
    request.n_tokens = span_tokens(request.n_tokens, n_left);
    prefill(request, pass.pass(request.n_tokens));
  }
  decide();
}

bool CacheForecast::decide() {
  bool any = false;
  for (const TextSegment& segment : std::vector<TextSegment>(text_.segments)) {
    if (segment.state != SegmentState::pending) continue;
    decide_text(segment);
    any = true;
  }
  if (any) forget_decided();
  has_scores_ = has_scores_ && layout_.requirements().decoding;
  return any;
}

}  // namespace satchel::kvcache
