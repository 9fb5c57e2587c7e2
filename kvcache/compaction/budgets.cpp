// What a decision would start from and give each lane, without making it: the material of a model's
// lane table.
#include "kvcache/compaction/compaction.h"
#include "kvcache/compaction/waiting_text.h"

namespace satchel::kvcache {

Result<TextSpan> scored_text(const CacheState& cache) {
  for (const TextSpan& text : cache.spans) {
    const bool scored = !cache.wants().probe || text.n_probed == text.n_tokens;
    if (text.state == SpanState::pending && scored) return text;
  }
  return Error{ErrorKind::invalid, "CACHE_SCORES", "No text waits with all its scores."};
}

Result<std::vector<std::vector<std::size_t>>> Compaction::budgets(const TextSpan& text,
                                                                  std::span<const double> keeps) {
  TokenSpan span = cache_.token_span(text.first, text.n_tokens);
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(stored_scores(span, lanes));
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
  SATCHEL_TRY_ASSIGN(const TextSpan text, scored_text(s));
  SATCHEL_TRY_ASSIGN(const auto budgets, Compaction(s).budgets(text, keeps));
  std::vector<std::vector<double>> shares;
  for (const std::vector<std::size_t>& row : budgets) {
    std::vector<double>& out = shares.emplace_back();
    for (const std::size_t budget : row)
      out.push_back(static_cast<double>(budget) / static_cast<double>(text.n_tokens));
  }
  return shares;
}

Result<std::vector<float>> Cache::waiting_scores(std::size_t lane) const {
  const State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr && lane < s.lanes.size());
  SATCHEL_TRY_ASSIGN(const TextSpan text, scored_text(s));
  std::vector<float> scores(text.n_tokens);
  SATCHEL_TRY(s.scores.read(lane, text.first, scores));
  return scores;
}

}  // namespace satchel::kvcache
