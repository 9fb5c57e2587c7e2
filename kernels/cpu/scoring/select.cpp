// The choice of the largest scores: each item by one thread.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/base/assert.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

// A total order: larger first, then the lower index; NaN is -infinity.
struct Before {
  const float* scores;
  float value(std::int32_t i) const {
    return std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
  }
  bool operator()(std::int32_t a, std::int32_t b) const {
    const float x = value(a), y = value(b);
    return x > y || (x == y && a < b);
  }
};

// Finds the last one kept in O(n), then writes those that rank before it in index order.
void select_one(const SelectArgs& args, std::int32_t* order) {
  if (args.keep == 0) return;
  const Before before{args.scores};
  std::iota(order, order + args.n_scores, 0);
  std::nth_element(order, order + args.keep - 1, order + args.n_scores, before);
  const std::int32_t cut = order[args.keep - 1];
  std::int32_t* to = args.indices;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(args.n_scores); ++i)
    if (!before(cut, i)) *to++ = i;
}

}  // namespace

Result<void> CpuBackend::select(std::span<const SelectArgs> items) {
  std::size_t most = 0;
  for (const SelectArgs& args : items) {
    SATCHEL_ASSERT(args.keep <= args.n_scores);
    most = std::max(most, args.n_scores);
  }
  static_assert(sizeof(float) == sizeof(std::int32_t));
  SATCHEL_TRY_ASSIGN(float* const memory, scratch_.take(context_.pool.n_threads() * most));
  auto* order = reinterpret_cast<std::int32_t*>(memory);
  context_.pool.parallel_for(items.size(), 1,
                             [&](std::size_t begin, std::size_t, std::size_t thread) {
                               select_one(items[begin], order + thread * most);
                             });
  return {};
}

}  // namespace satchel::kernels::cpu
