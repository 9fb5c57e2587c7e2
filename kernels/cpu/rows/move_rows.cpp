// Moves rows into and within a cache, over the threads.
#include <algorithm>
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/cpu/backend/backend_cpu.h"

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

}  // namespace

Result<void> CpuBackend::store(std::span<const StoreArgs> items) {
  std::size_t row_bytes = 0;
  for (const StoreArgs& args : items) {
    SATCHEL_ASSERT(args.n_rows <= 1 || args.from_stride >= args.n_values);
    row_bytes = std::max(row_bytes, args.n_values * sizeof(float));
  }
  const EncodeTable& table = context_.kernels.encode;
  for_rows(context_.pool, items, row_bytes, [&](const StoreArgs& args, std::size_t r) {
    table.store(args.from + r * args.from_stride, args.n_values, args.to + r * args.n_values);
    if (args.positions != nullptr)
      args.positions[r] = args.first_position + static_cast<std::int32_t>(r);
  });
  return {};
}

Result<void> CpuBackend::gather(std::span<const GatherArgs> items) {
  std::size_t row_bytes = 0;
  for (const GatherArgs& args : items) row_bytes = std::max(row_bytes, args.row_bytes);
  for_rows(context_.pool, items, row_bytes, [](const GatherArgs& args, std::size_t r) {
    std::memcpy(args.to + r * args.row_bytes,
                args.from + static_cast<std::size_t>(args.indices[r]) * args.row_bytes,
                args.row_bytes);
  });
  return {};
}

}  // namespace satchel::kernels::cpu
