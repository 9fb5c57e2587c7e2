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

std::size_t CacheForecast::State::bytes() const {
  std::size_t bytes = fixed_bytes(shape, layouts, pipeline);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    bytes -= exact_bytes(i, kTailTokens) - exact_bytes(i, planned[i].tail_kept);
    for (const PlannedPage& page : pages[i])
      bytes += page_bytes(page.tier, layer(i).head_dim, page.n_tokens);
  }
  return bytes + (has_scores ? ScoreStore::bytes_for(shape.n_lanes(), n_tokens) : 0);
}

void CacheForecast::State::add_pages(std::size_t lane, const TierRun& run,
                                     std::size_t last_position) {
  for (std::size_t left = run.n; left > 0;) {
    const std::size_t n = std::min(left, kernels::kPageTokens);
    left -= n;
    pages[lane].push_back({.tier = run.tier, .n_tokens = n, .last_position = last_position - left});
  }
}

// All of the line but sinks, the new tail and what no later query sees.
std::vector<TierRun> CacheForecast::State::runs_of_line(const ReadingPlan& plan,
                                                        std::size_t lane) const {
  const LanePlan& part = plan.lanes[lane];
  const std::size_t window = layer(lane).window, end = n_tokens + plan.n_tokens();
  const std::size_t begin = n_tokens - part.n_tail_before + part.n_new_sinks;
  const std::size_t seen = window == 0 || end < window ? 0 : end - window + 1;
  std::vector<TierRun> runs;
  for (std::size_t at = std::max(begin, seen); at < std::min(begin + part.n_body, n_tokens); ++at)
    add_run(runs, tier_at(at, plan.finest), 1);
  add_run(runs, plan.tier, less(begin + part.n_body, std::max({begin, seen, n_tokens})));
  return runs;
}

// The old tail, all of it, and what the recipe keeps of the new tokens.
std::vector<TierRun> CacheForecast::State::runs_of_kept(const ReadingPlan& plan, std::size_t lane,
                                                        std::size_t budget) {
  const LanePlan& part = plan.lanes[lane];
  const std::size_t begin = n_tokens - part.n_tail_before + part.n_new_sinks;
  std::vector<TierRun> runs;
  for (std::size_t at = begin; at < std::min(begin + part.n_body, n_tokens); ++at)
    add_run(runs, tier_at(at, plan.finest), 1);
  const auto& by_tier = body_by_tier(token_span(n_tokens, plan.n_tokens()),
                                     {.n_first = part.n_new_sinks,
                                      .n_last = std::min(plan.n_tokens(), part.n_tail_after),
                                      .budget = budget});
  for (std::size_t tier = 0; tier < by_tier.size(); ++tier)
    add_run(runs, static_cast<std::uint8_t>(kTierRecipe + tier), by_tier[tier]);
  return runs;
}

void CacheForecast::State::read(const ReadingPlan& plan, std::size_t other_bytes) {
  const bool in_layer = plan.mode == ReadingMode::in_layer;
  const std::vector<std::size_t> budgets =
      in_layer ? budgets_of(token_span(n_tokens, plan.n_tokens())) : std::vector<std::size_t>();
  for (std::size_t i = 0, part = 0; i < pages.size(); ++i) {
    const bool decided = in_layer && takes_part(layer_of[i]);
    const std::vector<TierRun> runs =
        decided ? runs_of_kept(plan, i, budgets[part++]) : runs_of_line(plan, i);
    std::size_t left =
        std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                        [](std::size_t sum, const TierRun& run) { return sum + run.n; });
    const std::size_t body_end = n_tokens + plan.n_tokens() - plan.lanes[i].n_tail_after;
    for (const TierRun& run : runs) {
      left -= run.n;
      add_pages(i, run, less(body_end, left + 1));
    }
    planned[i].n_tail = plan.lanes[i].n_tail_after;
  }
  since_flush = plan.since_flush_after;
  has_scores = has_scores || plan.stores_scores;
  extend_text(plan.request, plan.state_after);
  for (std::size_t i = 0; i < pages.size(); ++i)
    fit_exact(i, plan.lanes[i].tail_kept, other_bytes + plan.scratch_bytes);
  drop_behind_windows();
  const bool decides =
      plan.state_after == SpanState::pending && !wants().probe &&
      pipeline.fires({.occasion = Occasion::span_read, .n_tokens = plan.n_tokens()});
  if (decides) decide_text(spans.back());
  has_scores = has_scores && (wants().decoding || spans.back().state == SpanState::pending);
}

// As CacheState's: where there is no room for both, later.
void CacheForecast::State::fit_exact(std::size_t lane, std::size_t tail_kept, std::size_t beside) {
  if (tail_kept == planned[lane].tail_kept) return;
  if (exact_bytes(lane, tail_kept) + beside > free_bytes()) return;
  planned[lane].tail_kept = tail_kept;
}

void CacheForecast::State::drop_behind_windows() {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::size_t window = layer(i).window;
    if (window == 0 || n_tokens < window) continue;
    std::erase_if(pages[i],
                  [&](const PlannedPage& page) { return page.last_position <= n_tokens - window; });
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
