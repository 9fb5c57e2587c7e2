#include "kvcache/inspect/cache_inspector.h"

#include <algorithm>
#include <array>

#include "kvcache/compaction/compaction.h"
#include "kvcache/compaction/held_keys.h"
#include "kvcache/inspect/lanes_shown.h"
#include "kvcache/state/cache_state.h"
#include "kvcache/state/page_positions.h"

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

// Sinks and tail, which every step reads.
void add_exact(const Lane& lane, LayerReading& out) {
  const std::size_t n = lane.n_sinks() + lane.n_tail();
  const std::size_t bytes = n * lane.token().n_rows() * lane.head_dim() * sizeof(Half);
  out.n_read += n;
  out.n_held += n;
  out.bytes_read += bytes;
  out.bytes_held += bytes;
}

constexpr float kExactBits = 16;

float bits_of(const kernels::PageLayout& page, const TokenShape& token) {
  if (page.is_exact()) return kExactBits;
  const std::size_t n_values = page.capacity * token.head_dim * token.n_rows();
  return static_cast<float>(8 * (page.k.bytes() + page.v.bytes())) / static_cast<float>(n_values);
}

// Adds to each token the lane and its bits.
Result<void> add_lane(CacheState& cache, const Lane& lane, std::span<HeldToken> held) {
  const auto add = [&](std::size_t position, float bits) {
    held[position].share += 1;
    held[position].bits += bits;
  };
  for (std::size_t t = 0; t < lane.n_sinks(); ++t) add(t, kExactBits);
  for (std::size_t t = held.size() - lane.n_tail(); t < held.size(); ++t) add(t, kExactBits);
  std::array<std::int32_t, kernels::kPageTokens> positions;
  for (const PageRecord& page : lane.pages()) {
    SATCHEL_TRY(find_positions(cache, page, positions));
    const float bits = bits_of(*page.layout, lane.token());
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (page.live.has(slot)) add(static_cast<std::size_t>(positions[slot]), bits);
  }
  return {};
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

LayerReading CacheInspector::reading(std::size_t layer) const {
  const CacheState& s = cache_;
  const bool chooses = !s.layout.pipeline.reader().reads_all();
  const std::size_t first = s.layout.first_lane[layer], end = s.layout.first_lane[layer + 1];
  SATCHEL_ASSERT(!chooses || s.step.view_ends.size() == end - first);
  LayerReading out;
  for (std::size_t i = first, begin = 0; i < end; ++i) {
    const Lane& lane = s.lanes[i];
    std::span<const kernels::PageView> read = lane.page_views();
    if (chooses) {
      const std::size_t end_of_lane = s.step.view_ends[i - first];
      read = std::span(s.step.chosen_views).subspan(begin, end_of_lane - begin);
      begin = end_of_lane;
      out.bytes_read += lane.page_views().size() * s.layout.note_bytes(lane.head_dim());
    }
    add_exact(lane, out);
    for (const kernels::PageView& page : read) {
      out.n_read += page.live.count();
      out.bytes_read += page.layout->bytes;
    }
    for (const kernels::PageView& page : lane.page_views()) {
      out.n_held += page.live.count();
      out.bytes_held += page.layout->bytes;
    }
  }
  return out;
}

Result<std::vector<HeldToken>> CacheInspector::held() {
  CacheState& s = cache_;
  SATCHEL_ASSERT(s.prefill == nullptr);
  s.undo_open_step();
  std::vector<HeldToken> held(s.text.n_tokens);
  const std::vector<std::size_t> lanes = lanes_shown(s.layout.shape);
  for (const std::size_t lane : lanes) SATCHEL_TRY(add_lane(s, s.lanes[lane], held));
  for (HeldToken& token : held) {
    if (token.share > 0) token.bits /= token.share;
    token.share /= static_cast<float>(lanes.size());
  }
  for (const TextSegment& text : s.text.segments)
    for (std::size_t t = text.first; text.state == SegmentState::resting && t < text.end(); ++t)
      held[t].is_resting = true;
  return held;
}

}  // namespace satchel::kvcache
