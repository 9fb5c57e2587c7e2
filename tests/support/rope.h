// Frequencies of a rotary embedding for tests.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace satchel::test {

// 10000^(-2i / head_dim), as most models have them.
inline std::vector<double> rope_frequencies(std::size_t head_dim) {
  std::vector<double> out;
  for (std::size_t i = 0; i < head_dim / 2; ++i)
    out.push_back(std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim)));
  return out;
}

}  // namespace satchel::test
