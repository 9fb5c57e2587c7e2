// ExactBlock: K, V and positions of some exact tokens of one lane, side by side in one stretch of
// the backend's memory. Sinks, tails and the pieces of a prompt on its way all lie like this.
//   layout  k [n, head_dim] fp16, v [n, head_dim] fp16, positions [n] int32, each at a multiple of
//           64 bytes
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"

namespace satchel::kvcache {

struct ExactBlock {
  Half* k = nullptr;
  Half* v = nullptr;
  std::int32_t* positions = nullptr;

  kernels::ExactRun run(std::size_t n_tokens) const { return {k, v, positions, n_tokens}; }
};

inline std::size_t aligned_64(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

inline std::size_t exact_block_bytes(std::size_t n_tokens, std::size_t head_dim) {
  return 2 * aligned_64(n_tokens * head_dim * sizeof(Half)) +
         aligned_64(n_tokens * sizeof(std::int32_t));
}

inline ExactBlock exact_block(std::byte* at, std::size_t n_tokens, std::size_t head_dim) {
  const std::size_t rows = aligned_64(n_tokens * head_dim * sizeof(Half));
  return {reinterpret_cast<Half*>(at), reinterpret_cast<Half*>(at + rows),
          reinterpret_cast<std::int32_t*>(at + 2 * rows)};
}

// Copies tokens from … from + n of one block behind token `to` of another.
struct ExactCopy {
  const ExactBlock& source;
  std::size_t from;
  const ExactBlock& target;
  std::size_t to;
  std::size_t n_tokens;
};
Result<void> copy_exact(kernels::Backend& backend, std::size_t head_dim, const ExactCopy& what);

}  // namespace satchel::kvcache
