// IndexRange: the indices from begin up to, and without, end.
#pragma once

#include <cstddef>

namespace satchel {

struct IndexRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

}  // namespace satchel
