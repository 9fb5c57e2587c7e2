// A cache's size beside its text's length, as programs show it of caches in memory and of saved
// ones.
#pragma once

#include <cstdint>

namespace satchel::kvcache {

// Rounded; 0 where there are no tokens.
inline std::uint64_t bytes_per_1000_tokens(std::uint64_t bytes, std::uint64_t n_tokens) {
  if (n_tokens == 0) return 0;
  return static_cast<std::uint64_t>(
      static_cast<double>(bytes) * 1000 / static_cast<double>(n_tokens) + .5);
}

}  // namespace satchel::kvcache
