// CacheView: what planning must know of a cache, be it there or itself only planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/layout/cache_layout.h"
#include "kvcache/layout/text_segments.h"

namespace satchel::kvcache {

struct LaneTail {
  std::size_t n = 0;     // tokens that it holds
  std::size_t kept = 0;  // of them what a flush leaves
};

struct CacheView {
  const CacheLayout& layout;
  const TextSegments& text;
  std::size_t since_flush = 0;       // tokens that came to the tails since they were flushed
  std::vector<LaneTail> tails = {};  // [n_lanes]
  // Pages live in a far store, and the largest layer's take so many bytes when they are fetched.
  bool is_far = false;
  std::size_t fetch_bytes = 0;

  ScorerRequirements requirements() const { return layout.requirements(); }
  bool decides_in_layer() const { return layout.decides_in_layer(text.n_tokens); }
  TokenSpan token_span(std::size_t first, std::size_t n) const {
    return layout.token_span(first, n, text.n_tokens);
  }
};

}  // namespace satchel::kvcache
