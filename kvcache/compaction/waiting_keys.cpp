// Keys of a text that waits, turned back to before RoPE: what a key's worth is learned from.
#include <algorithm>
#include <array>

#include "kvcache/compaction/waiting_text.h"
#include "kvcache/turn_pairs.h"

namespace satchel::kvcache {
namespace {

class KeyReader {
 public:
  KeyReader(CacheState& cache, std::size_t lane, const TextSpan& text)
      : cache_(cache),
        shape_(cache.layer(lane)),
        text_(text),
        keys_(text.n_tokens * shape_.head_dim) {}

  Result<void> read_exact(const ExactBlock& block, std::size_t n_tokens) {
    std::vector<Half> halves(n_tokens * shape_.head_dim);
    std::vector<std::int32_t> positions(n_tokens);
    SATCHEL_TRY(download(std::span(halves), block.k));
    SATCHEL_TRY(download(std::span(positions), block.positions));
    std::vector<float> rows(halves.size());
    for (std::size_t i = 0; i < halves.size(); ++i) rows[i] = half_to_float(halves[i]);
    for (std::size_t t = 0; t < n_tokens; ++t) put(positions[t], 0, rows, t);
    return {};
  }
  Result<void> read_page(const PageRecord& page) {
    float* decoded = compaction_scratch(cache_, shape_.head_dim).k;
    const kernels::DecodeArgs decode{.layout = page.layout,
                                     .page = cache_.arena.at(page.extent),
                                     .n_tokens = page.n_tokens,
                                     .k = decoded};
    SATCHEL_TRY(cache_.backend.decode_pages({&decode, 1}));
    std::vector<float> rows(page.n_tokens * shape_.head_dim);
    SATCHEL_TRY(download(std::span(rows), decoded));
    std::array<std::int32_t, kernels::kPageTokens> positions;
    SATCHEL_TRY(cache_.read_positions(page, positions));
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (page.live.has(slot)) put(positions[slot], page.shift, rows, slot);
    return {};
  }
  Result<std::vector<float>> all() && {
    if (n_found_ == text_.n_tokens) return std::move(keys_);
    return Error{ErrorKind::invalid, "CACHE_SCORES", "The lane does not hold all of the text."};
  }

 private:
  template <class T>
  Result<void> download(std::span<T> to, const T* from) {
    return cache_.backend.download(std::as_writable_bytes(to),
                                   reinterpret_cast<const std::byte*>(from));
  }
  // A page's shift is not in its bytes.
  void put(std::int32_t position, std::int32_t shift, std::span<const float> rows,
           std::size_t row) {
    const auto at = static_cast<std::size_t>(position);
    if (at < text_.first || at >= text_.end()) return;
    const std::size_t d = shape_.head_dim;
    const std::span<float> key = std::span(keys_).subspan((at - text_.first) * d, d);
    std::copy_n(rows.data() + row * d, d, key.begin());
    turn_pairs(shape_, -static_cast<double>(position - shift), key);
    ++n_found_;
  }

  CacheState& cache_;
  const LayerShape& shape_;
  const TextSpan text_;
  std::vector<float> keys_;
  std::size_t n_found_ = 0;
};

}  // namespace

Result<std::vector<float>> Cache::waiting_keys(std::size_t lane) {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr && lane < s.lanes.size());
  s.undo_open_step();
  SATCHEL_TRY_ASSIGN(const TextSpan text, scored_text(s));
  const Lane& from = s.lanes[lane];
  KeyReader reader(s, lane, text);
  SATCHEL_TRY(reader.read_exact(from.sinks(), from.n_sinks()));
  for (const PageRecord& page : from.pages()) SATCHEL_TRY(reader.read_page(page));
  SATCHEL_TRY(reader.read_exact(from.tail(), from.n_tail()));
  return std::move(reader).all();
}

}  // namespace satchel::kvcache
