#include "kvcache/recurrent/checkpoints.h"

#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::kvcache {

std::size_t least_missed(std::span<const std::size_t> positions, std::size_t end) {
  SATCHEL_ASSERT(!positions.empty());
  std::size_t least = 0;
  double least_share = 2;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::size_t before = i == 0 ? 0 : positions[i - 1];
    const std::size_t behind = i + 1 == positions.size() ? end : positions[i + 1];
    const double share =
        static_cast<double>(behind - before) / static_cast<double>(end - before + 1);
    if (share >= least_share) continue;
    least = i;
    least_share = share;
  }
  return least;
}

std::vector<std::size_t> thinned(std::vector<std::size_t> positions, std::size_t end,
                                 std::size_t n_most) {
  while (positions.size() > n_most)
    positions.erase(positions.begin() + static_cast<std::ptrdiff_t>(least_missed(positions, end)));
  return positions;
}

std::vector<std::size_t> wanted_checkpoints(std::size_t first, std::size_t end,
                                            std::size_t interval) {
  std::vector<std::size_t> wanted;
  if (first > 0) wanted.push_back(first);
  for (std::size_t at = (first / interval + 1) * interval; at < end; at += interval)
    wanted.push_back(at);
  if (end > first) wanted.push_back(end);
  return wanted;
}

}  // namespace satchel::kvcache
