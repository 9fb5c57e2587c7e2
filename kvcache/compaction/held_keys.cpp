#include "kvcache/compaction/held_keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kvcache/shape/rope_pairs.h"

namespace satchel::kvcache {
Result<void> read_held_keys(CacheState& cache, std::size_t lane, std::size_t first, std::size_t end,
                            const TakesKey& take) {
  const Lane& from = cache.lanes[lane];
  const LayerShape& shape = cache.layout.layer(lane);
  const std::size_t d = shape.head_dim;
  std::vector<float> key(d), rows;
  // A page's shift is not in its bytes.
  const auto give = [&](std::int32_t position, std::int32_t shift, std::size_t row) {
    const auto at = static_cast<std::size_t>(position);
    if (at < first || at >= end) return;
    std::copy_n(rows.data() + row * d, d, key.begin());
    rope_pairs(shape, -static_cast<double>(position - shift), std::span(key));
    take(at, key);
  };
  const auto read_exact = [&](const ExactBlock& block, std::size_t n_tokens) -> Result<void> {
    std::vector<Half> halves(n_tokens * d);
    std::vector<std::int32_t> positions(n_tokens);
    SATCHEL_TRY(download(cache.backend, halves, block.k));
    SATCHEL_TRY(download(cache.backend, positions, block.positions));
    rows.resize(halves.size());
    for (std::size_t i = 0; i < halves.size(); ++i) rows[i] = half_to_float(halves[i]);
    for (std::size_t t = 0; t < n_tokens; ++t) give(positions[t], 0, t);
    return {};
  };
  SATCHEL_TRY(read_exact(from.sinks(), from.n_sinks()));
  std::array<std::int32_t, kernels::kPageTokens> positions;
  for (const PageRecord& page : from.pages()) {
    if (!page.overlaps(first, end)) continue;
    SATCHEL_TRY(cache.read_keys(page, d, rows));
    SATCHEL_TRY(cache.read_positions(page, positions));
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (page.live.has(slot)) give(positions[slot], page.shift, slot);
  }
  return read_exact(from.tail(), from.n_tail());
}

}  // namespace satchel::kvcache
