#include "kernels/cuda/lanes/lane_queries.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cuda/primitives/head_dim.h"

namespace satchel::kernels::cuda {

LaneRows lane_rows(const LaneQueries& lane) {
  lane.check();
  SATCHEL_ASSERT(lane.head_dim % 8 == 0 && lane.head_dim <= kCudaHeadDimMax);
  constexpr std::int64_t kAll = std::int64_t{1} << 40;  // positions are of 32 bits
  LaneRows rows{.q = lane.q,
                .positions = lane.batch.positions,
                .n_tokens = static_cast<unsigned>(lane.batch.n_tokens),
                .n_heads = static_cast<unsigned>(lane.n_heads),
                .head_dim = static_cast<unsigned>(lane.head_dim),
                .first_head = static_cast<unsigned>(lane.first_head),
                .n_group = static_cast<unsigned>(lane.n_group),
                .scale = lane.scale,
                .soft_cap = lane.soft_cap,
                .least_back = lane.mask == AttentionMask::causal ? 0 : -kAll,
                .most_back = kAll,
                .n_pairs = static_cast<unsigned>(lane.rope.inverse_frequency.size()),
                .adjacent_pairs = lane.rope.pairs == RopePairs::adjacent};
  if (lane.mask == AttentionMask::band) {
    rows.least_back = -1;
    rows.most_back = 0;
  } else if (lane.window != 0) {
    rows.most_back = static_cast<std::int64_t>(std::min<std::size_t>(lane.window, kAll)) - 1;
  }
  return rows;
}

}  // namespace satchel::kernels::cuda
