#include "kvcache/state/cache_stats.h"

#include <algorithm>
#include <limits>

#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {
namespace {

void add_states(const RecurrentStates& states, CacheStats& stats) {
  stats.bytes += states.bytes();
  stats.n_checkpoints = states.n_checkpoints();
  stats.checkpoint_bytes = states.checkpoint_bytes();
}

// Text that waits for a decision, or rests.
void add_waiting(const TextSegments& text, CacheStats& stats) {
  for (const TextSegment& segment : text.segments) {
    stats.n_resting += segment.n_resting;
    if (segment.state != SegmentState::pending) continue;
    stats.n_pending += segment.n_tokens;
    stats.n_pending_probed += segment.n_probed;
  }
}

}  // namespace

CacheStats stats_of(const CacheState& s) {
  CacheStats stats;
  stats.n_tokens = s.text.n_tokens;
  for (const TextSegment& segment : s.text.segments)
    if (segment.is_unread()) stats.n_unread += segment.n_tokens;
  const std::size_t n_read = s.text.n_tokens - stats.n_unread;
  stats.fp16_bytes = n_read * s.layout.shape.fp16_bytes_per_token();
  for (std::string& name : s.layout.tier_names()) stats.tiers.push_back({.name = std::move(name)});
  std::size_t n_seen = 0;
  for (std::size_t layer = 0; layer < s.layout.shape.n_layers(); ++layer) {
    const LayerShape& shape = s.layout.shape.layers[layer];
    const std::size_t head_dim = shape.head_dim, token_bytes = shape.token().fp16_bytes();
    LayerStats row{.n_kept_min = std::numeric_limits<std::size_t>::max()};
    double k_bytes = 0, v_bytes = 0;
    std::size_t n_body = 0;
    for (std::size_t i = s.layout.first_lane[layer]; i < s.layout.first_lane[layer + 1]; ++i) {
      const Lane& lane = s.lanes[i];
      std::size_t n_lane_body = 0;
      for (std::size_t j = 0; j < lane.pages().size(); ++j) {
        const PageRecord& page = lane.pages()[j];
        const std::size_t n_live = page.live.count();
        n_lane_body += n_live;
        stats.tiers[page.tier].n_tokens += n_live;
        if (!lane.owns_bytes(j)) continue;
        // Positions, notes and padding belong to K and V alike. A latent lane has one for both.
        const double k = static_cast<double>(page.layout->k.bytes());
        const double v = static_cast<double>(page.layout->v.bytes());
        const auto all =
            static_cast<double>(s.layout.page_bytes(page.tier, lane.token(), page.n_tokens));
        k_bytes += shape.is_latent ? all : k + (all - k - v) / 2;
        v_bytes += shape.is_latent ? all : v + (all - k - v) / 2;
        const std::size_t bytes = s.arena.bytes_of(page.extent);
        stats.body_bytes += bytes;
        if (s.arena.is_far(page.extent)) stats.far_bytes += s.arena.far_size(page.extent);
        stats.tiers[page.tier].bytes += bytes;
      }
      n_body += n_lane_body;
      const std::size_t n_kept = lane.n_sinks() + n_lane_body + lane.n_tail();
      row.n_kept_min = std::min(row.n_kept_min, n_kept);
      row.n_kept_max = std::max(row.n_kept_max, n_kept);
      row.n_pages += lane.pages().size();
      stats.n_kept += n_kept;
      stats.bytes += s.arena.bytes_of(lane.exact_extent());
      // A window bounds what a lane can hold: what lies behind it was not evicted.
      n_seen += shape.window == 0 ? n_read : std::min(n_read, n_kept);
      // An open step has appended a token that is not counted as seen yet.
      const std::size_t exact = std::min(n_read, lane.n_sinks() + lane.n_tail());
      stats.body_fp16_bytes += (n_read - exact) * token_bytes;
      if (lane.has_moved_sinks()) stats.bytes += s.arena.bytes_of(lane.moved_sinks_extent());
    }
    if (n_body > 0) {
      row.k_bits = k_bytes * 8 / static_cast<double>(n_body * head_dim);
      row.v_bits = v_bytes * 8 / static_cast<double>(n_body * head_dim);
    }
    stats.layers.push_back(row);
  }
  add_waiting(s.text, stats);
  add_states(s.states, stats);
  stats.bytes += stats.body_bytes + s.scores.bytes();
  if (s.has_scratch) stats.bytes += s.arena.bytes_of(s.scratch);
  if (s.has_reserve) stats.bytes += s.arena.bytes_of(s.reserve);
  stats.n_fits = s.fits.n_made;
  stats.n_fits_dropped = s.fits.n_dropped;
  stats.n_evicted = n_seen - std::min(n_seen, stats.n_kept + stats.n_resting);
  stats.copy_bytes = s.arena.copy_bytes();
  stats.arena_bytes = s.arena.bytes();
  stats.arena_used_bytes = s.arena.used_bytes();
  stats.arena_peak_bytes = s.arena.peak_bytes();
  return stats;
}

}  // namespace satchel::kvcache
