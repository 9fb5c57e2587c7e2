// In which spans a text is prefilled that does not fit at once. prefill_text() goes by this, and so
// does CacheForecast, which foretells what it leaves.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kvcache/layout/text_segments.h"

namespace satchel::kvcache {

// Chosen. Before a span gets shorter than one stretch of the second pass, pending text is decided;
// one that is hardly worth its pass through the weights is prefilled only if no memory can be
// reclaimed.
inline constexpr std::size_t kSpanShort = kProbeTokens, kSpanLeast = 64;
// What memory is reclaimed for at a time, if the recipe allows, and what bounds are counted for:
// text that is decided in longer spans retains more of what matters, and a span this long hides
// what its ends cost.
inline constexpr std::size_t kSpanWanted = 1024;
// Where nothing is left to be had spans get shorter; prefill_text() goes on down to half of this.
inline constexpr std::size_t kSpanCramped = 128;

// Of what is left, where n_fit tokens fit: as few spans as it takes, alike but for the last.
inline std::size_t span_tokens(std::size_t n_fit, std::size_t n_left) {
  const std::size_t n_most = std::max<std::size_t>(n_fit, 1);  // else the prefill says so
  const std::size_t n_spans = (n_left + n_most - 1) / n_most;
  return (n_left + n_spans - 1) / n_spans;
}

}  // namespace satchel::kvcache
