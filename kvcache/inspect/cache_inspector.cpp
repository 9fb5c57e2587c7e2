#include "kvcache/inspect/cache_inspector.h"

#include "kvcache/compaction/compaction.h"
#include "kvcache/compaction/held_keys.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {
namespace {

// The first text that is pending with all its scores: what a decision would be about next.
Result<TextSegment> scored_text(const CacheState& cache) {
  for (const TextSegment& text : cache.text.segments) {
    const bool scored = !cache.requirements().probe || text.n_probed == text.n_tokens;
    if (text.state == SegmentState::pending && scored) return text;
  }
  return Error{ErrorKind::invalid, "CACHE_SCORES", "No pending text has all its scores."};
}

}  // namespace

Result<std::vector<std::vector<double>>> CacheInspector::pending_shares(
    std::span<const double> keeps) {
  CacheState& s = cache_;
  SATCHEL_ASSERT(s.prefill == nullptr);
  s.undo_open_step();
  SATCHEL_TRY_ASSIGN(const TextSegment text, scored_text(s));
  SATCHEL_TRY_ASSIGN(const auto budgets, Compaction(s).budgets(text, keeps));
  std::vector<std::vector<double>> shares;
  for (const std::vector<std::size_t>& row : budgets) {
    std::vector<double>& out = shares.emplace_back();
    for (const std::size_t budget : row)
      out.push_back(static_cast<double>(budget) / static_cast<double>(text.n_tokens));
  }
  return shares;
}

Result<std::vector<float>> CacheInspector::pending_scores(std::size_t lane) const {
  const CacheState& s = cache_;
  SATCHEL_ASSERT(s.prefill == nullptr && lane < s.lanes.size());
  SATCHEL_TRY_ASSIGN(const TextSegment text, scored_text(s));
  std::vector<float> scores(text.n_tokens);
  SATCHEL_TRY(s.scores.read(lane, text.first, scores));
  return scores;
}

Result<std::vector<float>> CacheInspector::pending_keys(std::size_t lane) {
  CacheState& s = cache_;
  SATCHEL_ASSERT(s.prefill == nullptr && lane < s.lanes.size());
  s.undo_open_step();
  SATCHEL_TRY_ASSIGN(const TextSegment text, scored_text(s));
  const std::size_t d = s.layout.layer(lane).head_dim;
  std::vector<float> keys(text.n_tokens * d);
  std::size_t n_found = 0;
  const TakesKey take = [&](std::size_t position, std::span<const float> key) {
    std::copy(key.begin(), key.end(),
              keys.begin() + static_cast<std::ptrdiff_t>((position - text.first) * d));
    ++n_found;
  };
  SATCHEL_TRY(read_held_keys(s, lane, text.first, text.end(), take));
  if (n_found == text.n_tokens) return keys;
  return Error{ErrorKind::invalid, "CACHE_SCORES", "The lane does not hold all of the text."};
}

// Linear in the live slots, so that it does not matter whether a page is seen in parts.
std::uint64_t CacheInspector::stamp(std::size_t first, std::size_t n) const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t sum = 0;
  for (const Lane& lane : cache_.lanes)
    for (const PageRecord& page : lane.pages()) {
      if (!page.overlaps(first, first + n)) continue;
      std::uint64_t factor = page.bytes_serial * kOdd;
      for (const std::uint64_t word : page.live.words) {
        factor = (factor ^ (factor >> 29)) * kOdd;
        sum += (factor | 1) * word;
      }
    }
  return sum;
}

}  // namespace satchel::kvcache
