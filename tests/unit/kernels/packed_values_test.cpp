// Values in 8 bits on every backend: bit for bit what is computed here, by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

class EveryPackedValue : public test::OnEveryBackend {
 protected:
  // There and back.
  std::vector<float> through(const std::vector<float>& x) {
    std::vector<float> packed((packed_bytes(x.size()) + 3) / 4, 7.0f), back(x.size(), 7.0f);
    auto* const bytes = reinterpret_cast<std::byte*>(packed.data());
    EXPECT_TRUE(backend().pack_values(x.data(), x.size(), bytes).ok());
    EXPECT_TRUE(backend().unpack_values(bytes, x.size(), back.data()).ok());
    return back;
  }
};

TEST_P(EveryPackedValue, comes_back_within_half_a_step_of_its_block) {
  for (const std::size_t n : {1u, 63u, 64u, 65u, 300u, 20000u}) {
    std::vector<float> x = random_values(n, n);
    for (std::size_t i = 0; i < n; ++i) x[i] *= std::pow(10.0f, static_cast<float>(i / 64 % 9) - 4);
    const std::vector<float> back = through(x);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t first = i / kPackedBlock * kPackedBlock;
      float largest = 0;
      for (std::size_t j = first; j < std::min(first + kPackedBlock, n); ++j)
        largest = std::max(largest, std::abs(x[j]));
      const float scale = largest / 127;
      ASSERT_EQ(back[i], std::nearbyint(x[i] * (1 / scale)) * scale) << n << " values, " << i;
      ASSERT_LE(std::abs(back[i] - x[i]), scale * .5001f);
    }
  }
}

TEST_P(EveryPackedValue, of_a_block_of_zeros_or_of_what_is_next_to_nothing_is_zero) {
  std::vector<float> x(130, 0.0f);
  for (std::size_t i = 64; i < 128; ++i) x[i] = 1e-39f;
  x[129] = -3.0f;
  const std::vector<float> back = through(x);
  for (std::size_t i = 0; i < 129; ++i) ASSERT_EQ(back[i], 0.0f) << i;
  EXPECT_NEAR(back[129], -3.0f, 1e-6f);
}

TEST_P(EveryPackedValue, that_is_not_finite_spoils_its_block_alone) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x = random_values(192, 3);
    x[100] = bad;
    const std::vector<float> back = through(x);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(std::isnan(back[i]), i / kPackedBlock == 1) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryPackedValue, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
