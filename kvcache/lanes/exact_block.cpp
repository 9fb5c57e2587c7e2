#include "kvcache/lanes/exact_block.h"

namespace satchel::kvcache {

Result<void> copy_exact(kernels::Backend& backend, std::size_t head_dim, const ExactCopy& what) {
  if (what.n_tokens == 0) return {};
  const auto rows = [&](Half* to, const Half* from) {
    return backend.copy(reinterpret_cast<std::byte*>(to + what.to * head_dim),
                        reinterpret_cast<const std::byte*>(from + what.from * head_dim),
                        what.n_tokens * head_dim * sizeof(Half));
  };
  SATCHEL_TRY(rows(what.target.k, what.source.k));
  if (!what.source.is_latent()) SATCHEL_TRY(rows(what.target.v, what.source.v));
  return backend.copy(reinterpret_cast<std::byte*>(what.target.positions + what.to),
                      reinterpret_cast<const std::byte*>(what.source.positions + what.from),
                      what.n_tokens * sizeof(std::int32_t));
}

}  // namespace satchel::kvcache
