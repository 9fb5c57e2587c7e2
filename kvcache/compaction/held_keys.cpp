#include "kvcache/compaction/held_keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kvcache/shape/rope_pairs.h"

namespace satchel::kvcache {
namespace {

class KeyReader {
 public:
  KeyReader(CacheState& cache, std::size_t lane, std::size_t first, std::size_t end,
            const TakesKey& take)
      : cache_(cache),
        shape_(cache.layout.layer(lane)),
        first_(first),
        end_(end),
        take_(take),
        key_(shape_.head_dim) {}

  Result<void> read_exact(const ExactBlock& block, std::size_t n_tokens) {
    std::vector<Half> halves(n_tokens * shape_.head_dim);
    std::vector<std::int32_t> positions(n_tokens);
    SATCHEL_TRY(download(cache_.backend, halves, block.k));
    SATCHEL_TRY(download(cache_.backend, positions, block.positions));
    std::vector<float> rows(halves.size());
    for (std::size_t i = 0; i < halves.size(); ++i) rows[i] = half_to_float(halves[i]);
    for (std::size_t t = 0; t < n_tokens; ++t) give(positions[t], 0, rows, t);
    return {};
  }
  Result<void> read_page(const PageRecord& page) {
    if (!page.overlaps(first_, end_)) return {};
    std::vector<float> rows;
    SATCHEL_TRY(cache_.read_keys(page, shape_.head_dim, rows));
    std::array<std::int32_t, kernels::kPageTokens> positions;
    SATCHEL_TRY(cache_.read_positions(page, positions));
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (page.live.has(slot)) give(positions[slot], page.shift, rows, slot);
    return {};
  }

 private:
  // A page's shift is not in its bytes.
  void give(std::int32_t position, std::int32_t shift, std::span<const float> rows,
            std::size_t row) {
    const auto at = static_cast<std::size_t>(position);
    if (at < first_ || at >= end_) return;
    const std::size_t d = shape_.head_dim;
    std::copy_n(rows.data() + row * d, d, key_.begin());
    rope_pairs(shape_, -static_cast<double>(position - shift), std::span(key_));
    take_(at, key_);
  }

  CacheState& cache_;
  const LayerShape& shape_;
  const std::size_t first_, end_;
  const TakesKey& take_;
  std::vector<float> key_;
};

}  // namespace

Result<void> read_held_keys(CacheState& cache, std::size_t lane, std::size_t first, std::size_t end,
                            const TakesKey& take) {
  const Lane& from = cache.lanes[lane];
  KeyReader reader(cache, lane, first, end, take);
  SATCHEL_TRY(reader.read_exact(from.sinks(), from.n_sinks()));
  for (const PageRecord& page : from.pages()) SATCHEL_TRY(reader.read_page(page));
  return reader.read_exact(from.tail(), from.n_tail());
}

}  // namespace satchel::kvcache
