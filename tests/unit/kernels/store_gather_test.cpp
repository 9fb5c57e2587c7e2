// Rows on their way into a cache, and rows moved about in it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

class EveryStore : public test::OnEveryBackend {};

TEST_P(EveryStore, halves_are_rounded_clamped_and_free_of_nan) {
  const float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0,     -0.0f, 1,     -2.5f,      65504, 65519,
                                65520, 1e9f,  -1e9f, kInf,       -kInf, std::nanf(""),
                                6e-8f, 1e-9f, 0.1f,  1.0009766f, 2049};
  std::vector<Half> out(x.size(), 0x1234);
  const StoreArgs args{.from = x.data(),
                       .n_rows = 1,
                       .n_values = x.size(),
                       .from_stride = x.size(),
                       .to = out.data()};
  ASSERT_TRUE(backend().store({&args, 1}).ok());
  EXPECT_EQ(out, (std::vector<Half>{0, 0x8000, 0x3c00, 0xc100, 0x7bff, 0x7bff, 0x7bff, 0x7bff,
                                    0xfbff, 0x7bff, 0xfbff, 0, 1, 0, 0x2e66, 0x3c01, 0x6800}));
}

TEST_P(EveryStore, strided_rows_of_any_width_are_the_references) {
  for (const std::size_t width : {1u, 15u, 16u, 17u, 64u, 100u}) {
    for (const std::size_t n_rows : {0u, 1u, 5u, 129u}) {
      const std::size_t stride = width * 3 + 1;
      const auto x = test::random_values(n_rows * stride + 1, width);
      std::vector<Half> want(n_rows * width), got(n_rows * width, 1);
      StoreArgs args{.from = x.data(), .n_rows = n_rows, .n_values = width, .from_stride = stride};
      args.to = want.data();
      ASSERT_TRUE(reference().store({&args, 1}).ok());
      args.to = got.data();
      ASSERT_TRUE(backend().store({&args, 1}).ok());
      EXPECT_EQ(got, want) << width << " x " << n_rows;
    }
  }
}

TEST_P(EveryStore, positions_are_stored_with_the_rows_of_the_items_that_want_them) {
  const auto x = test::random_values(300 * 48, 8);
  const std::size_t n_rows[] = {1, 300, 5};
  const std::int32_t first[] = {7, 123'456, 0};
  std::vector<std::vector<Half>> rows(3);
  std::vector<std::vector<std::int32_t>> positions(3);
  std::vector<StoreArgs> stores;
  for (std::size_t i = 0; i < 3; ++i) {
    rows[i].resize(n_rows[i] * 48);
    positions[i].assign(n_rows[i] + 1, -1);
    stores.push_back({.from = x.data(),
                      .n_rows = n_rows[i],
                      .n_values = 48,
                      .from_stride = 48,
                      .to = rows[i].data(),
                      .positions = i == 2 ? nullptr : positions[i].data(),
                      .first_position = first[i]});
  }
  ASSERT_TRUE(backend().store(stores).ok());
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t r = 0; r < n_rows[i]; ++r)
      ASSERT_EQ(positions[i][r], i == 2 ? -1 : first[i] + static_cast<std::int32_t>(r)) << i;
    EXPECT_EQ(positions[i].back(), -1) << i;
    EXPECT_EQ(rows[i].back(), float_to_half(x[n_rows[i] * 48 - 1])) << i;
  }
}

TEST_P(EveryStore, gather_moves_whole_rows_in_the_order_asked) {
  for (const std::size_t row_bytes : {4u, 128u, 256u}) {
    std::vector<std::byte> from(row_bytes * 300);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 / 7);
    for (const std::size_t n : {0u, 1u, 127u, 128u, 129u}) {
      std::vector<std::int32_t> indices(n);
      for (std::size_t i = 0; i < n; ++i) indices[i] = static_cast<std::int32_t>(i * 7 % 300);
      std::vector<std::byte> to(n * row_bytes + 1, std::byte{9});
      const GatherArgs args{.from = from.data(),
                            .indices = indices.data(),
                            .n_rows = n,
                            .row_bytes = row_bytes,
                            .to = to.data()};
      ASSERT_TRUE(backend().gather({&args, 1}).ok());
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(
            std::memcmp(to.data() + i * row_bytes,
                        from.data() + static_cast<std::size_t>(indices[i]) * row_bytes, row_bytes),
            0);
      EXPECT_EQ(to.back(), std::byte{9});
    }
  }
}

TEST_P(EveryStore, items_of_different_lengths_in_one_call_stay_apart) {
  const auto x = test::random_values(900 * 64, 5);
  const std::size_t n_rows[] = {1, 900, 0, 7};
  std::vector<std::vector<Half>> stored(4);
  std::vector<std::vector<std::byte>> gathered(4);
  std::vector<std::int32_t> indices(900);
  for (std::size_t i = 0; i < 900; ++i) indices[i] = static_cast<std::int32_t>(899 - i);
  std::vector<StoreArgs> stores;
  std::vector<GatherArgs> gathers;
  for (std::size_t i = 0; i < 4; ++i) {
    stored[i].resize(n_rows[i] * 64);
    gathered[i].resize(n_rows[i] * 256);
    stores.push_back({.from = x.data(),
                      .n_rows = n_rows[i],
                      .n_values = 64,
                      .from_stride = 64,
                      .to = stored[i].data()});
    gathers.push_back({.from = reinterpret_cast<const std::byte*>(x.data()),
                       .indices = indices.data(),
                       .n_rows = n_rows[i],
                       .row_bytes = 256,
                       .to = gathered[i].data()});
  }
  ASSERT_TRUE(backend().store(stores).ok());
  ASSERT_TRUE(backend().gather(gathers).ok());
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < stored[i].size(); ++k)
      ASSERT_EQ(stored[i][k], float_to_half(x[k])) << i;
    for (std::size_t r = 0; r < n_rows[i]; ++r)
      ASSERT_EQ(std::memcmp(gathered[i].data() + r * 256, x.data() + (899 - r) * 64, 256), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryStore, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
