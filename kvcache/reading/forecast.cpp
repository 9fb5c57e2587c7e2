// CacheForecast: reading, as pack_layer.cpp and move_in.cpp do it, counted.
#include <algorithm>
#include <numeric>

#include "kvcache/reading/forecast_state.h"

namespace satchel::kvcache {
namespace {

void add_run(std::vector<TierRun>& runs, std::uint8_t tier, std::size_t n) {
  if (n == 0) return;
  if (runs.empty() || runs.back().tier != tier) runs.push_back({.tier = tier});
  runs.back().n += n;
}

}  // namespace

void CacheForecast::State::add_pages(std::size_t lane, const TierRun& run,
                                     std::size_t last_position) {
  if (run.n == 0) return;
  held_bytes += body_bytes(run.tier, layer(lane).head_dim, run.n);
  runs[lane].push_back({.tier = run.tier, .n_tokens = run.n, .last_position = last_position});
}

PlannedRun CacheForecast::State::take_pages(std::size_t lane, std::size_t first,
                                            std::uint8_t tier_end) {
  PlannedRun taken;
  for (PlannedRun& run : runs[lane]) {
    if (run.last_position < first || run.tier >= tier_end) continue;
    const std::size_t n_left = run.n_before(first), head_dim = layer(lane).head_dim;
    held_bytes -= body_bytes(run.tier, head_dim, run.n_tokens);
    held_bytes += body_bytes(run.tier, head_dim, n_left);
    taken.last_position = std::max(taken.last_position, run.last_position);
    taken.n_tokens += run.n_tokens - n_left;
    run.last_position -= run.n_tokens - n_left;
    run.n_tokens = n_left;
  }
  std::erase_if(runs[lane], [](const PlannedRun& run) { return run.n_tokens == 0; });
  return taken;
}

void CacheForecast::State::forget_decided() {
  const auto waits = [](const TextSpan& span) { return span.state != SpanState::done; };
  const auto first = std::find_if(spans.begin(), spans.end(), waits);
  const std::size_t end = first == spans.end() ? n_tokens : first->first;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (layer(i).window == 0)
      std::erase_if(runs[i], [end](const PlannedRun& run) { return run.last_position < end; });
}

void CacheForecast::State::keep_tail(std::size_t lane, std::size_t tail_kept) {
  held_bytes -= exact_bytes(lane, planned[lane].tail_kept);
  held_bytes += exact_bytes(lane, tail_kept);
  planned[lane].tail_kept = tail_kept;
}

// All of the line but sinks, the new tail and what no later query sees.
std::vector<TierRun> CacheForecast::State::runs_of_line(const ReadingPlan& plan,
                                                        std::size_t lane) const {
  const LanePlan& part = plan.lanes[lane];
  const std::size_t window = layer(lane).window, end = n_tokens + plan.n_tokens();
  const std::size_t begin = n_tokens - part.n_tail_before + part.n_new_sinks;
  const std::size_t seen = window == 0 || end < window ? 0 : end - window + 1;
  std::vector<TierRun> out;
  for (std::size_t at = std::max(begin, seen); at < std::min(begin + part.n_body, n_tokens); ++at)
    add_run(out, tier_at(at, plan.finest), 1);
  add_run(out, plan.tier, less(begin + part.n_body, std::max({begin, seen, n_tokens})));
  return out;
}

// The old tail, all of it, and what the recipe keeps of the new tokens.
std::vector<TierRun> CacheForecast::State::runs_of_kept(const ReadingPlan& plan, std::size_t lane,
                                                        std::size_t budget) {
  const LanePlan& part = plan.lanes[lane];
  const std::size_t begin = n_tokens - part.n_tail_before + part.n_new_sinks;
  std::vector<TierRun> out;
  for (std::size_t at = begin; at < std::min(begin + part.n_body, n_tokens); ++at)
    add_run(out, tier_at(at, plan.finest), 1);
  const auto& by_tier = body_by_tier(token_span(n_tokens, plan.n_tokens()),
                                     {.n_first = part.n_new_sinks,
                                      .n_last = std::min(plan.n_tokens(), part.n_tail_after),
                                      .budget = budget});
  for (std::size_t tier = 0; tier < by_tier.size(); ++tier)
    add_run(out, static_cast<std::uint8_t>(kTierRecipe + tier), by_tier[tier]);
  return out;
}

void CacheForecast::State::read(const ReadingPlan& plan, std::size_t other_bytes) {
  const bool in_layer = plan.mode == ReadingMode::in_layer;
  const std::vector<std::size_t> budgets =
      in_layer ? budgets_of(token_span(n_tokens, plan.n_tokens())) : std::vector<std::size_t>();
  for (std::size_t i = 0, part = 0; i < runs.size(); ++i) {
    const bool decided = in_layer && takes_part(layer_of[i]);
    const std::vector<TierRun> added =
        decided ? runs_of_kept(plan, i, budgets[part++]) : runs_of_line(plan, i);
    std::size_t left =
        std::accumulate(added.begin(), added.end(), std::size_t{0},
                        [](std::size_t sum, const TierRun& run) { return sum + run.n; });
    const std::size_t body_end = n_tokens + plan.n_tokens() - plan.lanes[i].n_tail_after;
    for (const TierRun& run : added) {
      left -= run.n;
      add_pages(i, run, less(body_end, left + 1));
    }
    planned[i].n_tail = plan.lanes[i].n_tail_after;
  }
  since_flush = plan.since_flush_after;
  has_scores = has_scores || plan.stores_scores;
  extend_text(plan.request, plan.state_after);
  for (std::size_t i = 0; i < runs.size(); ++i)
    fit_exact(i, plan.lanes[i].tail_kept, other_bytes + plan.scratch_bytes);
  drop_behind_windows();
  const bool decides =
      plan.state_after == SpanState::pending && !wants().probe &&
      pipeline.fires({.occasion = Occasion::span_read, .n_tokens = plan.n_tokens()});
  if (decides) decide_text(spans.back());
  if (spans.back().state == SpanState::done) forget_decided();
  has_scores = has_scores && (wants().decoding || spans.back().state == SpanState::pending);
}

// As CacheState's: where there is no room for both, later.
void CacheForecast::State::fit_exact(std::size_t lane, std::size_t tail_kept, std::size_t beside) {
  if (tail_kept == planned[lane].tail_kept) return;
  if (exact_bytes(lane, tail_kept) + beside > free_bytes()) return;
  keep_tail(lane, tail_kept);
}

void CacheForecast::State::drop_behind_windows() {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t window = layer(i).window;
    if (window == 0 || n_tokens < window) continue;
    for (PlannedRun& run : runs[i]) {
      const std::size_t n_gone = run.n_before(n_tokens - window + 1);
      held_bytes -= body_bytes(run.tier, layer(i).head_dim, n_gone);
      run.n_tokens -= n_gone;
    }
    std::erase_if(runs[i], [](const PlannedRun& run) { return run.n_tokens == 0; });
  }
}

CacheForecast::CacheForecast(std::unique_ptr<State> state) : state_(std::move(state)) {}
CacheForecast::CacheForecast(CacheForecast&&) noexcept = default;
CacheForecast::~CacheForecast() = default;

Result<CacheForecast> CacheForecast::make(const CacheShape& shape, const Recipe& recipe,
                                          const Memory& memory) {
  SATCHEL_TRY_ASSIGN(TierLayouts layouts, TierLayouts::make(shape, recipe.pipeline()));
  return CacheForecast(std::make_unique<State>(shape, recipe, std::move(layouts), memory));
}

bool CacheForecast::wants_pre_rope() const {
  return state_->wants().pre_rope;
}

ReadRequest CacheForecast::reading_fits(const ReadRequest& request, Cache::OtherBytes other_bytes,
                                        const void* context) const {
  return kvcache::reading_fits(*state_, state_->free_bytes(), request, other_bytes, context);
}

void CacheForecast::read(const ReadRequest& request, std::size_t other_bytes) {
  SATCHEL_ASSERT(request.n_tokens > 0);
  State& s = *state_;
  s.read(plan_that_fits(s, request, less(s.free_bytes(), other_bytes)), other_bytes);
}

bool CacheForecast::decide() {
  State& s = *state_;
  bool any = false;
  for (const TextSpan& span : std::vector<TextSpan>(s.spans)) {
    if (span.state != SpanState::pending) continue;
    s.decide_text(span);
    any = true;
  }
  if (any) s.forget_decided();
  s.has_scores = s.has_scores && s.wants().decoding;
  return any;
}

std::size_t CacheForecast::n_tokens() const {
  return state_->n_tokens;
}

std::size_t CacheForecast::bytes() const {
  return state_->bytes();
}

}  // namespace satchel::kvcache
