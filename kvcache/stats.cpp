// Cache::stats: what the lanes hold, counted as allocated.
#include <algorithm>
#include <limits>

#include "kvcache/cache_state.h"

namespace satchel::kvcache {
namespace {

// Bits per value of a page's K and of its V, all its bytes counted: positions and padding belong to
// both alike.
struct PageBits {
  double k = 16, v = 16;
};
PageBits page_bits(const kernels::PageLayout& layout) {
  const std::size_t values = kernels::kPageTokens * layout.head_dim;
  std::size_t k = kernels::kPageTokens * layout.k_row_bytes();
  std::size_t v = layout.head_dim * layout.v_row_bytes();
  if (layout.form == kernels::PageForm::affine) {
    k += 2 * sizeof(Half) * layout.head_dim * (kernels::kPageTokens / layout.k_group);
    v += 2 * sizeof(Half) * kernels::kPageTokens * (layout.head_dim / layout.v_group);
  } else {
    k = v = values * sizeof(Half);
  }
  const double shared = static_cast<double>(layout.bytes - k - v) / 2;
  const auto bits = [&](std::size_t bytes) {
    return (static_cast<double>(bytes) + shared) * 8 / static_cast<double>(values);
  };
  return {bits(k), bits(v)};
}

}  // namespace

CacheStats Cache::stats() const {
  const State& s = *state_;
  const std::size_t token_bytes = 2 * s.shape.head_dim * sizeof(Half);
  const PageBits bits = page_bits(s.layout);
  CacheStats stats;
  stats.n_tokens = s.n_tokens;
  stats.fp16_bytes = s.n_tokens * s.shape.fp16_bytes_per_token();
  stats.bytes = fixed_bytes(s.shape);
  for (std::size_t layer = 0; layer < s.shape.n_layers; ++layer) {
    LayerStats row{
        .n_kept_min = std::numeric_limits<std::size_t>::max(), .k_bits = bits.k, .v_bits = bits.v};
    for (std::size_t head = 0; head < s.shape.n_kv_heads; ++head) {
      const Lane& lane = s.lanes[layer * s.shape.n_kv_heads + head];
      row.n_kept_min = std::min(row.n_kept_min, lane.n_kept());
      row.n_kept_max = std::max(row.n_kept_max, lane.n_kept());
      row.n_pages += lane.pages().size();
      stats.n_kept += lane.n_kept();
      // An open step has appended a token that is not counted as seen yet.
      const std::size_t exact = std::min(s.n_tokens, lane.n_sinks() + lane.n_tail());
      stats.body_fp16_bytes += (s.n_tokens - exact) * token_bytes;
    }
    stats.body_bytes += row.n_pages * s.layout.bytes;
    stats.layers.push_back(row);
  }
  stats.bytes += stats.body_bytes;
  const std::size_t seen = s.n_tokens * s.lanes.size();
  stats.n_evicted = seen - std::min(seen, stats.n_kept);
  stats.pool_bytes = s.pool.bytes();
  stats.pool_used_bytes = s.pool.used_bytes();
  stats.pool_peak_bytes = s.pool.peak_bytes();
  return stats;
}

}  // namespace satchel::kvcache
