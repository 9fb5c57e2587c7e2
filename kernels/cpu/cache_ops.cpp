#include "kernels/cpu/cache_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/cpu/encode_table.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kShareBytes = 64 << 10;  // chosen: a copy that outlasts waking a thread

std::size_t rows_of_a_share(std::size_t row_bytes) {
  return std::max<std::size_t>(1, kShareBytes / std::max<std::size_t>(1, row_bytes));
}

}  // namespace

Result<void> store(const CpuContext& context, const StoreArgs& args) {
  SATCHEL_ASSERT(args.n_rows <= 1 || args.from_stride >= args.n_values);
  const EncodeTable& table = context.level == CpuLevel::avx2 ? kEncodeAvx2 : kEncodeAvx512;
  context.pool.parallel_for(args.n_rows, rows_of_a_share(args.n_values * sizeof(float)),
                            [&](std::size_t begin, std::size_t end, std::size_t) {
                              for (std::size_t r = begin; r < end; ++r)
                                table.store(args.from + r * args.from_stride, args.n_values,
                                            args.to + r * args.n_values);
                            });
  return {};
}

// The last one kept is found in O(n); who ranks before it is then read off in order.
Result<void> select(const CpuContext&, const float* scores, std::size_t n_scores, std::size_t keep,
                    std::int32_t* indices) {
  SATCHEL_ASSERT(keep <= n_scores);
  if (keep == 0) return {};
  const auto before = [scores](std::int32_t a, std::int32_t b) {
    const auto value = [scores](std::int32_t i) {
      return std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
    };
    const float x = value(a), y = value(b);
    return x > y || (x == y && a < b);
  };
  std::vector<std::int32_t> order(n_scores);
  std::iota(order.begin(), order.end(), 0);
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(keep - 1);
  std::nth_element(order.begin(), last, order.end(), before);
  const std::int32_t cut = *last;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(n_scores); ++i)
    if (!before(cut, i)) *indices++ = i;
  return {};
}

Result<void> gather(const CpuContext& context, const std::byte* from, const std::int32_t* indices,
                    std::size_t n_rows, std::size_t row_bytes, std::byte* to) {
  context.pool.parallel_for(
      n_rows, rows_of_a_share(row_bytes), [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i)
          std::memcpy(to + i * row_bytes, from + static_cast<std::size_t>(indices[i]) * row_bytes,
                      row_bytes);
      });
  return {};
}

}  // namespace satchel::kernels::cpu
