#include "kernels/cpu/dispatch/cache_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/base/assert.h"
#include "kernels/cpu/dispatch/kernel_table.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kShareBytes = 64 << 10;  // chosen: a copy that outlasts waking a thread

// Calls row(item, r) for every row of every item, over the threads.
template <class Item, class Row>
void for_rows(ThreadPool& pool, std::span<const Item> items, std::size_t row_bytes,
              const Row& row) {
  std::size_t most = 0;
  for (const Item& item : items) most = std::max(most, item.n_rows);
  const std::size_t share =
      std::max<std::size_t>(1, kShareBytes / std::max<std::size_t>(1, row_bytes));
  pool.parallel_for(items.size() * most, share,
                    [&](std::size_t begin, std::size_t end, std::size_t) {
                      for (std::size_t i = begin; i < end; ++i)
                        if (i % most < items[i / most].n_rows) row(items[i / most], i % most);
                    });
}

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

// The last one kept is found in O(n); who ranks before it is then read off in order.
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

void store(const CpuContext& context, std::span<const StoreArgs> items) {
  std::size_t row_bytes = 0;
  for (const StoreArgs& args : items) {
    SATCHEL_ASSERT(args.n_rows <= 1 || args.from_stride >= args.n_values);
    row_bytes = std::max(row_bytes, args.n_values * sizeof(float));
  }
  const EncodeTable& table = context.kernels.encode;
  for_rows(context.pool, items, row_bytes, [&](const StoreArgs& args, std::size_t r) {
    table.store(args.from + r * args.from_stride, args.n_values, args.to + r * args.n_values);
  });
}

Result<void> select(const CpuContext& context, AttendScratch& scratch,
                    std::span<const SelectArgs> items) {
  std::size_t most = 0;
  for (const SelectArgs& args : items) {
    SATCHEL_ASSERT(args.keep <= args.n_scores);
    most = std::max(most, args.n_scores);
  }
  static_assert(sizeof(float) == sizeof(std::int32_t));
  SATCHEL_TRY_ASSIGN(float* const memory, scratch.take(context.pool.n_threads() * most));
  auto* order = reinterpret_cast<std::int32_t*>(memory);
  context.pool.parallel_for(items.size(), 1,
                            [&](std::size_t begin, std::size_t, std::size_t thread) {
                              select_one(items[begin], order + thread * most);
                            });
  return {};
}

void gather(const CpuContext& context, std::span<const GatherArgs> items) {
  std::size_t row_bytes = 0;
  for (const GatherArgs& args : items) row_bytes = std::max(row_bytes, args.row_bytes);
  for_rows(context.pool, items, row_bytes, [](const GatherArgs& args, std::size_t r) {
    std::memcpy(args.to + r * args.row_bytes,
                args.from + static_cast<std::size_t>(args.indices[r]) * args.row_bytes,
                args.row_bytes);
  });
}

}  // namespace satchel::kernels::cpu
