// ExactBlock: K, V and positions of exact tokens of one lane, in one piece of the backend's memory.
// Sinks, tails and the chunks of a prompt in prefill all use this layout.
//   layout  k [n, head_dim] fp16, v [n, head_dim] fp16, positions [n] int32, each at a multiple of
//           64 bytes. Of a latent lane there is no v: it is k
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kvcache/lanes/token_shape.h"

namespace satchel::kvcache {

struct ExactBlock {
  Half* k = nullptr;
  Half* v = nullptr;
  std::int32_t* positions = nullptr;

  bool is_latent() const { return v == k; }
  kernels::ExactRun run(std::size_t n_tokens) const { return {k, v, positions, n_tokens}; }
};

inline std::size_t aligned_64(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

inline std::size_t exact_block_bytes(std::size_t n_tokens, const TokenShape& token) {
  return token.n_rows() * aligned_64(n_tokens * token.head_dim * sizeof(Half)) +
         aligned_64(n_tokens * sizeof(std::int32_t));
}

inline ExactBlock exact_block(std::byte* at, std::size_t n_tokens, const TokenShape& token) {
  const std::size_t rows = aligned_64(n_tokens * token.head_dim * sizeof(Half));
  return {reinterpret_cast<Half*>(at), reinterpret_cast<Half*>(at + (token.n_rows() - 1) * rows),
          reinterpret_cast<std::int32_t*>(at + token.n_rows() * rows)};
}

// Copies tokens from … from + n_tokens - 1 of one block to another, starting at its token `to`.
struct ExactCopy {
  const ExactBlock& source;
  std::size_t from;
  const ExactBlock& target;
  std::size_t to;
  std::size_t n_tokens;
};
Result<void> copy_exact(kernels::Backend& backend, std::size_t head_dim, const ExactCopy& what);

}  // namespace satchel::kvcache
