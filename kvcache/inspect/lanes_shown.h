// The lanes that people are shown a mean of: those without a window; all where each has one.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "kvcache/shape/cache_shape.h"

namespace satchel::kvcache {

inline std::vector<std::size_t> lanes_shown(const CacheShape& shape) {
  std::vector<std::size_t> lanes = shape.deciding_lanes();
  if (lanes.empty()) {
    lanes.resize(shape.n_lanes());
    std::iota(lanes.begin(), lanes.end(), std::size_t{0});
  }
  return lanes;
}

}  // namespace satchel::kvcache
