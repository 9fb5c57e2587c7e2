// Calls at the ends of a grid's lengths: more ids, tokens, items and blocks of rows than the second
// and third may be. The executor refuses a launch that a card would refuse.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/backend/backend_cuda.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/scoring/score.h"
#include "simt/on_executor.h"
#include "support/value_of.h"
#include "support/weights.h"

namespace satchel::kernels::cuda {

// Of attention/logsumexp_rows.h, the rest of which is for .cu files.
cudaError_t merge_splits(Queue& queue, const RowsCall& call, const RowsShape& shape);

namespace {

constexpr std::size_t kMany = 65'537;  // one more than the second length may be, and one

class LaunchLimits : public OnExecutor {};

template <class T>
std::vector<T> got(Backend& backend, const Buffer& from, std::size_t first, std::size_t n) {
  std::vector<T> out(n);
  const auto bytes = std::as_writable_bytes(std::span(out));
  EXPECT_TRUE(backend.download(bytes, from.data() + first * sizeof(T)).ok());
  return out;
}
template <class T>
Buffer put(Backend& backend, const std::vector<T>& values) {
  Buffer out = value_of(backend.allocate(values.size() * sizeof(T)));
  EXPECT_TRUE(backend.upload(out.data(), std::as_bytes(std::span(values))).ok());
  return out;
}

TEST_F(LaunchLimits, a_prompt_may_have_any_number_of_ids) {
  constexpr std::size_t kRows = 3, kIn = 32;
  for (const WeightType type : {WeightType::f16, WeightType::q8_0}) {
    const auto backend = value_of(make_backend());
    const test::WeightFile file = test::random_weight(type, kRows, kIn, 1);
    const auto table = value_of(backend->load_weight(file.source()));
    std::vector<std::int32_t> ids(kMany);
    for (std::size_t i = 0; i < kMany; ++i) ids[i] = static_cast<std::int32_t>(i % kRows);
    Buffer out = value_of(backend->allocate(kMany * kIn * sizeof(float)));
    ASSERT_TRUE(backend->embed(*table, ids, reinterpret_cast<float*>(out.data())).ok());
    const auto first = got<float>(*backend, out, 0, kRows * kIn);
    EXPECT_THAT(first, testing::Contains(testing::Ne(0.0f)));
    const auto last = got<float>(*backend, out, (kMany - kRows) * kIn, kRows * kIn);
    for (std::size_t i = 0; i < last.size(); ++i)
      EXPECT_EQ(last[i], first[(kMany - kRows + i / kIn) % kRows * kIn + i % kIn]) << i;
  }
}

// Rows of zeros but the last; so most of the work is the grid.
TEST_F(LaunchLimits, a_product_may_have_any_number_of_tokens) {
  constexpr std::size_t kOut = 1, kIn = 32;
  const auto backend = value_of(make_backend());
  const test::WeightFile file = test::random_weight(WeightType::q4_0, kOut, kIn, 2);
  const auto weight = value_of(backend->load_weight(file.source()));
  const auto row = test::random_values(kIn, 3);
  const auto product = [&](std::size_t n) {
    std::vector<float> x(n * kIn);
    std::ranges::copy(row, x.end() - kIn);
    Buffer from = put(*backend, x), to = value_of(backend->allocate(n * sizeof(float)));
    EXPECT_TRUE(backend
                    ->matmul(*weight, reinterpret_cast<const float*>(from.data()), n,
                             reinterpret_cast<float*>(to.data()))
                    .ok());
    return got<float>(*backend, to, n - 1, 1)[0];
  };
  const float of_few = product(17);  // of a prompt too
  EXPECT_NE(of_few, 0);
  EXPECT_EQ(product(kMany), of_few);
}

// 16 rows a block: a matrix of 2 MB whose blocks of rows go on in the third length.
TEST_F(LaunchLimits, a_matrix_of_floats_may_have_any_number_of_rows) {
  constexpr std::size_t kOut = kMany * 16, kIn = 1;
  const auto backend = value_of(make_backend());
  std::vector<Half> rows(kOut);
  for (std::size_t r = 0; r < kOut; ++r) rows[r] = static_cast<Half>(0x3c00 + r % 512);
  const auto weight = value_of(backend->load_weight({.type = WeightType::f16,
                                                     .n_out = kOut,
                                                     .n_in = kIn,
                                                     .bytes = std::as_bytes(std::span(rows))}));
  const Buffer x = put(*backend, std::vector<float>{2});
  Buffer out = value_of(backend->allocate(kOut * sizeof(float)));
  ASSERT_TRUE(backend
                  ->matmul(*weight, reinterpret_cast<const float*>(x.data()), 1,
                           reinterpret_cast<float*>(out.data()))
                  .ok());
  const auto all = got<float>(*backend, out, 0, kOut);
  for (std::size_t r = 0; r < kOut; ++r)
    ASSERT_EQ(all[r], 2 + static_cast<float>(r % 512) / 512) << r;
}

TEST_F(LaunchLimits, rows_of_any_number_of_items_are_stored_and_gathered) {
  constexpr std::size_t kWidth = 4;
  const auto backend = value_of(make_backend());
  const Buffer from = put(*backend, std::vector<float>{1, 2, 3, 4});
  Buffer stored = value_of(backend->allocate(kWidth * sizeof(Half)));
  std::vector<StoreArgs> stores(kMany);
  stores.back() = {.from = reinterpret_cast<const float*>(from.data()),
                   .n_rows = 1,
                   .n_values = kWidth,
                   .from_stride = kWidth,
                   .to = reinterpret_cast<Half*>(stored.data())};
  ASSERT_TRUE(backend->store(stores).ok());
  EXPECT_THAT(got<Half>(*backend, stored, 0, kWidth),
              testing::ElementsAre(0x3c00, 0x4000, 0x4200, 0x4400));

  const Buffer index = put(*backend, std::vector<std::int32_t>{0});
  Buffer gathered = value_of(backend->allocate(kWidth * sizeof(float)));
  std::vector<GatherArgs> gathers(kMany);
  gathers.back() = {.from = from.data(),
                    .indices = reinterpret_cast<const std::int32_t*>(index.data()),
                    .n_rows = 1,
                    .row_bytes = kWidth * sizeof(float),
                    .to = gathered.data()};
  ASSERT_TRUE(backend->gather(gathers).ok());
  EXPECT_THAT(got<float>(*backend, gathered, 0, kWidth), testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(LaunchLimits, keys_of_any_number_of_items_are_weighed) {
  constexpr std::size_t kDim = 1;
  const auto backend = value_of(make_backend());
  const Buffer k = put(*backend, std::vector<float>{2});
  Buffer scores = value_of(backend->allocate(sizeof(float)));
  const std::vector<float> weights = {1, 0.5f, 0.25f};
  std::vector<KeyImportanceArgs> items(kMany);
  items.back() = {.k = reinterpret_cast<const float*>(k.data()),
                  .n_tokens = 1,
                  .head_dim = kDim,
                  .stride = kDim,
                  .weights = weights,
                  .scores = reinterpret_cast<float*>(scores.data())};
  ASSERT_TRUE(backend->key_importance(items).ok());
  EXPECT_FLOAT_EQ(got<float>(*backend, scores, 0, 1)[0], std::exp(3.0f));
}

// What only a call of that many lanes could lead to: launched with empty items, and the last not.
struct OfDevice {
  OfDevice() : device(value_of(Device::open())) {}
  template <class T>
  T* zeroed(std::size_t n) {
    buffers.push_back(value_of(device->allocate(n * sizeof(T))));
    return reinterpret_cast<T*>(buffers.back().data());
  }
  template <class T>
  void set(T* to, const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    ASSERT_TRUE(device->upload(reinterpret_cast<std::byte*>(to), bytes).ok());
  }
  template <class T>
  T get(const T* from) {
    T out = {};
    const auto bytes = std::as_writable_bytes(std::span(&out, 1));
    EXPECT_TRUE(device->download(bytes, reinterpret_cast<const std::byte*>(from)).ok());
    return out;
  }
  std::unique_ptr<Device> device;
  std::vector<Buffer> buffers;  // of the device
};

TEST_F(LaunchLimits, splits_of_any_number_of_lanes_are_merged) {
  OfDevice of;
  auto* items = of.zeroed<RowsItem>(kMany);
  auto* sums = of.zeroed<RowSum>(2);
  auto* lse = of.zeroed<float>(1);
  constexpr float kOne = 16384;  // 2^14: of a weight of 1
  of.set(sums, RowSum{0, kOne});
  of.set(sums + 1, RowSum{0, kOne});
  RowsItem last{.lse = lse, .n_splits = 2, .sums = sums};
  last.rows.n_tokens = last.rows.n_group = last.rows.n_heads = 1;
  of.set(items + kMany - 1, last);
  const RowsShape shape{.n_items = kMany, .n_rows_max = 1, .n_splits_max = 2, .head_dim = 8};
  ASSERT_EQ(merge_splits(of.device->queue(), {{.items = items}}, shape), cudaSuccess);
  EXPECT_NEAR(of.get(lse), std::log(3.0f), 1e-6) << "added to what was there: 0, of a weight of 1";
}

TEST_F(LaunchLimits, queries_of_any_number_of_lanes_become_columns) {
  OfDevice of;
  auto* items = of.zeroed<ScoreItem>(kMany);
  ScoreItem last{.n_sets = 1,
                 .fragments = of.zeroed<QueryFragment>(kWarp),
                 .columns = of.zeroed<QueryColumn>(8)};
  last.rows.n_group = 1;
  last.rows.head_dim = 8;
  of.set(last.columns, QueryColumn{1, 1, 1, 1});  // and it has no token: a column of zeros
  of.set(items + kMany - 1, last);
  ASSERT_EQ(make_query_columns(of.device->queue(), items, kMany, 1, 1), cudaSuccess);
  EXPECT_EQ(of.get(last.columns).weight, 0);
}

TEST_F(LaunchLimits, rows_of_any_number_of_lanes_are_attended) {
  OfDevice of;
  const auto* items = of.zeroed<RowsItem>(kMany);
  for (const std::size_t head_dim : {64u, 128u, 256u}) {
    const RowsShape shape{
        .n_items = kMany, .n_rows_max = 1, .n_splits_max = 1, .head_dim = head_dim};
    ASSERT_EQ(attend_prefill(of.device->queue(), {{.items = items}}, shape), cudaSuccess);
    ASSERT_TRUE(of.device->finish().ok());
  }
}

}  // namespace
}  // namespace satchel::kernels::cuda
