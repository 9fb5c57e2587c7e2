#include "kvcache/planning/cache_view.h"

namespace satchel::kvcache {

std::size_t CacheView::line_bytes(std::size_t lane, std::size_t n_head, std::size_t n_new,
                                  std::uint8_t tier, std::uint8_t finest) const {
  const std::size_t head_dim = layout.layer(lane).head_dim;
  const std::size_t first = text.n_tokens - tails[lane].n;
  std::size_t bytes = 0, n = 0;
  std::uint8_t now = tier;
  for (std::size_t at = 0; at < n_head; ++at) {
    const std::uint8_t here = layout.tier_at(text, first + at, finest);
    if (n > 0 && here != now) {
      bytes += layout.body_bytes(now, head_dim, n);
      n = 0;
    }
    now = here;
    ++n;
  }
  if (n > 0 && n_new > 0 && now != tier) {
    bytes += layout.body_bytes(now, head_dim, n);
    n = 0;
  }
  return bytes + layout.body_bytes(n_new > 0 ? tier : now, head_dim, n + n_new);
}

}  // namespace satchel::kvcache
