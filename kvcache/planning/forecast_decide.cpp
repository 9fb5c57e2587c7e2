// What a recipe keeps of a text whose scores are not known yet: how many tokens, in which lane and
// tier.
#include <algorithm>
#include <numeric>

#include "kvcache/planning/cache_forecast.h"
#include "kvcache/planning/plan_prefill.h"
#include "kvcache/recipes/decide.h"
#include "kvcache/stages/apportion.h"

namespace satchel::kvcache {

// Which tokens they are depends on scores, how many does not: any scores will do.
const std::vector<std::size_t>& CacheForecast::body_by_tier(const TokenSpan& span,
                                                            const Retained& of_lane) {
  if (filtered_.size() != span.n_tokens || filtered_first_ != span.first_position) {
    by_tier_.clear();
    filtered_first_ = span.first_position;
    filtered_.assign(span.n_tokens, 0.0f);
    layout_.pipeline.filter(span, filtered_);
  }
  const auto [at, is_new] = by_tier_.try_emplace(of_lane, layout_.pipeline.n_own_codecs());
  std::vector<std::size_t>& counts = at->second;
  if (!is_new) return counts;
  const std::size_t n = span.n_tokens;
  LaneDecision lane{.scores = filtered_, .budget = of_lane.budget};
  const auto mark = [&](std::size_t first, std::size_t n_marked) {
    std::fill_n(lane.scores.begin() + static_cast<std::ptrdiff_t>(first), n_marked, kNeverEvict);
  };
  mark(0, std::min(n, of_lane.n_first));
  mark(saturating_sub(n, of_lane.n_last), std::min(n, of_lane.n_last));
  if (layout_.pipeline.n_own_codecs() == 1) {  // the assigner has no choice, and would have to sort
    const auto least =
        static_cast<std::size_t>(std::count(lane.scores.begin(), lane.scores.end(), kNeverEvict));
    counts[0] =
        saturating_sub(std::clamp(of_lane.budget, least, n), of_lane.n_first + of_lane.n_last);
    return counts;
  }
  assign(layout_.pipeline, {&lane, 1});
  for (std::size_t t = of_lane.n_first; t < saturating_sub(n, of_lane.n_last); ++t)
    if (lane.tiers[t] != kGone) ++counts[lane.tiers[t]];
  return counts;
}

// Where the tokens of all lanes compete by what a second pass says of them, lanes keep about what
// the model's table has learned from such passes; else all alike, as nothing tells them apart.
std::vector<std::size_t> CacheForecast::budgets_over_all(const TokenSpan& span,
                                                         std::size_t total) const {
  std::vector<double> desired(span.n_lanes, 1);
  if (span.head_budgets != nullptr && layout_.requirements().probe) {
    span.head_budgets->at(span.keep, desired);
    constexpr double kLeast = 1e-6;  // so that their sum is none
    for (double& each : desired) each = std::max(each, kLeast);
  }
  std::vector<std::size_t> budgets(span.n_lanes);
  apportion(desired,
            {.total = total,
             .n_protected = std::min(layout_.pipeline.n_protected(span), span.n_tokens),
             .cap = span.n_tokens},
            budgets);
  return budgets;
}

// Of the lanes that take part.
std::vector<std::size_t> CacheForecast::budgets_of(const TokenSpan& span) const {
  const std::size_t n_protected = layout_.pipeline.n_protected(span);
  std::vector<std::size_t> budgets(span.n_lanes), totals(span.n_layers);
  if (layout_.pipeline.allocator().known(span, n_protected, budgets)) return budgets;
  layout_.pipeline.allocator().totals(span, n_protected, totals);
  if (layout_.pipeline.allocator().scope() == Allocator::Scope::cache)
    return budgets_over_all(span, std::accumulate(totals.begin(), totals.end(), std::size_t{0}));
  budgets.clear();
  for (std::size_t layer = 0, part = 0; layer < layout_.shape.n_layers(); ++layer) {
    if (!layout_.takes_part(layer)) continue;
    const std::size_t n = layout_.shape.layers[layer].n_kv_heads, total = totals[part++];
    for (std::size_t head = 0; head < n; ++head)
      budgets.push_back(total / n + (head < total % n ? 1 : 0));
  }
  return budgets;
}

void CacheForecast::decide_text(const TextSegment& segment) {
  const ScorerRequirements wanted = layout_.requirements();
  const bool chooses = layout_.pipeline.fires(TriggerEvent::asked, segment.n_tokens) &&
                       !wanted.exact_kv && (segment.kind != SegmentKind::answer || wanted.probe);
  const std::vector<std::size_t> budgets =
      chooses ? budgets_of(view().token_span(segment.first, segment.n_tokens))
              : std::vector<std::size_t>();
  for (std::size_t i = 0, part = 0; i < runs_.size(); ++i) {
    if (chooses && layout_.takes_part(layout_.layer_of[i])) {
      decide_lane(segment, i, budgets[part++]);
    } else {
      lower_lane(segment, i);
    }
  }
  if (chooses) since_flush_ = 0;
  for (TextSegment& of : text_.segments)
    if (of.first == segment.first) of.state = SegmentState::done;
}

// Pages, then what leaves the tail, in pages of its own; what is kept of both is taken to lie
// evenly.
void CacheForecast::decide_lane(const TextSegment& segment, std::size_t lane, std::size_t budget) {
  const std::size_t tail = layout_.pipeline.tail(), short_tail = layout_.pipeline.short_tail();
  const std::size_t affords = budget < kLongTailBudget ? short_tail : tail;
  const std::size_t to_keep = short_tail < tail ? affords : tails_[lane].kept;
  const std::size_t n_tail_after = std::min(tails_[lane].n, to_keep);
  const std::size_t n_flush = tails_[lane].n - n_tail_after;
  const std::size_t n_sinks = saturating_sub(kSinkTokens, segment.first);
  const std::vector<std::size_t>& counts = body_by_tier(
      view().token_span(segment.first, segment.n_tokens),
      {.n_first = n_sinks, .n_last = std::min(segment.n_tokens, n_tail_after), .budget = budget});
  const std::size_t n_open = saturating_sub(segment.n_tokens, n_sinks + n_tail_after);
  const std::size_t n_kept = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  // A page most of which stays at its tier is only masked.
  const bool stays =
      !layout_.recipe_is_exact && 2 * n_kept >= n_open &&
      std::any_of(runs_[lane].begin(), runs_[lane].end(), [&](const PlannedRun& run) {
        return run.last_position >= segment.first && run.tier == kTierRecipe;
      });
  if (!stays) take_pages(lane, segment.first, kGone);
  for (std::size_t tier = 0; tier < counts.size(); ++tier) {
    const auto to = static_cast<std::uint8_t>(kTierRecipe + tier);
    // The tail may hold more than this text.
    const std::size_t n_flushed =
        n_open == 0 ? 0 : counts[tier] * std::min(n_flush, n_open) / n_open;
    const std::size_t n_body = stays ? 0 : counts[tier] - n_flushed;
    for (const std::size_t n : {n_body, n_flushed})
      add_pages(lane, {.tier = to, .n_tokens = n, .last_position = segment.end() - 1});
  }
  tails_[lane].n = n_tail_after;
  keep_tail(lane, to_keep);
}

// Every token stays, at the recipe's first tier.
void CacheForecast::lower_lane(const TextSegment& segment, std::size_t lane) {
  PlannedRun taken = take_pages(lane, segment.first, kTierRecipe);
  taken.tier = kTierRecipe;
  add_pages(lane, taken);
}

}  // namespace satchel::kvcache
