// The choice of tokens to keep, and moving rows about.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {

// By a full sort, the plainest specification.
Result<void> ReferenceBackend::select(std::span<const SelectArgs> items) {
  for (const SelectArgs& args : items) {
    SATCHEL_ASSERT(args.keep <= args.n_scores);
    const float* scores = args.scores;
    const auto rank = [scores](std::int32_t i) {
      return std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
    };
    std::vector<std::int32_t> order(args.n_scores);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return rank(a) > rank(b); });
    order.resize(args.keep);
    std::sort(order.begin(), order.end());
    std::copy(order.begin(), order.end(), args.indices);
  }
  return {};
}

Result<void> ReferenceBackend::gather(std::span<const GatherArgs> items) {
  for (const GatherArgs& args : items) {
    for (std::size_t i = 0; i < args.n_rows; ++i) {
      SATCHEL_ASSERT(args.indices[i] >= 0);
      const std::size_t row = static_cast<std::size_t>(args.indices[i]);
      std::memcpy(args.to + i * args.row_bytes, args.from + row * args.row_bytes, args.row_bytes);
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
