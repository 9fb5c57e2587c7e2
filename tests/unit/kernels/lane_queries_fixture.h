// What the tests of score() and logsumexp() share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/contract/backend.h"
#include "support/lanes.h"
#include "support/weights.h"

namespace satchel::test {

// Queries at rising positions over some keys; the lane's heads are 1 … n_group of n_group + 2. The
// logsumexp values are made up; the caller decides what they belong to.
struct Queries {
  std::size_t n, n_group, head_dim;
  std::int32_t first_position = 0;
  std::vector<float> q = {}, lse = {}, weights = {};
  std::vector<std::int32_t> positions = {};
  std::vector<double> frequencies = {};

  Queries(std::size_t n_in, std::size_t n_group_in, std::size_t d, std::int32_t first = 0,
          std::int32_t step = 1)
      : n(n_in),
        n_group(n_group_in),
        head_dim(d),
        q(random_values(n_in * (n_group_in + 2) * d, n_in + d)),
        lse(random_values(n_in * (n_group_in + 2), 17)),
        weights(random_values(n_in, 18)),
        frequencies(rope_frequencies(d)) {
    for (float& x : lse) x = 3 + x / 8;
    for (float& w : weights) w = std::abs(w);
    for (std::size_t i = 0; i < n; ++i)
      positions.push_back(first + static_cast<std::int32_t>(i) * step);
  }
  kernels::ScoreArgs args(const kernels::LaneView& keys, std::vector<float>& scores) const {
    return {.lane = over(keys), .lse = lse.data(), .scores = scores.data()};
  }
  kernels::LaneQueries over(const kernels::LaneView& keys) const {
    return {.q = q.data(),
            .batch = {.positions = positions.data(), .n_tokens = n},
            .n_heads = n_group + 2,
            .head_dim = head_dim,
            .first_head = 1,
            .n_group = n_group,
            .keys = keys,
            .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
            .rope = {.inverse_frequency = frequencies}};
  }
};

inline std::size_t n_slots(const kernels::LaneView& keys) {
  std::size_t n = 0;
  for (const kernels::ExactRun& run : keys.runs) n += run.n_tokens;
  for (const kernels::PageView& page : keys.pages) n += page.n_tokens;
  return n;
}

}  // namespace satchel::test
