// TokenShape: what a lane holds of one token. Lanes of the same shape have the same extents and
// page layouts.
#pragma once

#include <cstddef>

#include "kernels/base/half.h"

namespace satchel::kvcache {

struct TokenShape {
  std::size_t head_dim = 0;
  bool is_latent = false;  // one row is key and value (kernels/contract/lane_view.h)

  std::size_t n_rows() const { return is_latent ? 1 : 2; }
  std::size_t fp16_bytes() const { return n_rows() * head_dim * sizeof(Half); }
  friend bool operator==(const TokenShape&, const TokenShape&) = default;
};

}  // namespace satchel::kvcache
