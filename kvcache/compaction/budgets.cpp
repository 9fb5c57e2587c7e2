// What a decision would give each lane, without making it: the material of a model's lane table.
#include <algorithm>

#include "kvcache/compaction/compaction.h"

namespace satchel::kvcache {

Result<std::vector<std::vector<std::size_t>>> Compaction::budgets(const TextSpan& text,
                                                                  std::span<const double> keeps) {
  TokenSpan span = cache_.token_span(text.first, text.n_tokens);
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(load_scores(span, lanes));
  std::vector<std::vector<std::size_t>> out;
  for (const double keep : keeps) {
    span.keep = keep;
    share_out(span, lanes);
    std::vector<std::size_t>& row = out.emplace_back();
    for (const LaneDecision& lane : lanes) row.push_back(lane.budget);
  }
  return out;
}

Result<std::vector<std::vector<double>>> Cache::waiting_shares(std::span<const double> keeps) {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr);
  s.undo_open_step();
  const auto text = std::find_if(s.spans.begin(), s.spans.end(), [&s](const TextSpan& span) {
    const bool scored = !s.pipeline.wants().probe || span.n_probed == span.n_tokens;
    return span.state == SpanState::pending && scored;
  });
  if (text == s.spans.end())
    return Error{ErrorKind::invalid, "CACHE_SCORES", "No text waits with all its scores."};
  SATCHEL_TRY_ASSIGN(const auto budgets, Compaction(s).budgets(*text, keeps));
  std::vector<std::vector<double>> shares;
  for (const std::vector<std::size_t>& row : budgets) {
    std::vector<double>& out = shares.emplace_back();
    for (const std::size_t budget : row)
      out.push_back(static_cast<double>(budget) / static_cast<double>(text->n_tokens));
  }
  return shares;
}

}  // namespace satchel::kvcache
