// What attention gives each token, as people are shown it, against the softmax of plain loops over
// what the lanes hold.
#include "kvcache/cache/attention_shares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kvcache/inspect/lanes_shown.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

// Queries of a layer with what they see, and where that lies for the backend.
struct Queries {
  std::vector<std::int32_t> positions;
  std::vector<float> q, lse;
  std::vector<float> expected;  // [n_tokens], of the mean over the heads
};

Queries queries_of(CacheDriver& driver, std::size_t layer,
                   const std::vector<std::int32_t>& positions) {
  const LayerShape& shape = driver.shape().layers[layer];
  Queries of{.positions = positions, .q = {}, .lse = {}, .expected = {}};
  of.expected.resize(driver.cache().n_tokens());
  std::vector<DecodedLane> lanes;
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head)
    lanes.push_back(driver.decode(layer, head));
  for (const std::int32_t position : positions) {
    const std::vector<float> q = driver.q(layer, static_cast<std::size_t>(position));
    of.q.insert(of.q.end(), q.begin(), q.end());
    for (std::size_t head = 0; head < shape.n_heads; ++head) {
      const DecodedLane& lane = lanes[head / shape.n_group()];
      const Attended seen = attend_plainly(q.data() + head * shape.head_dim, shape, position, lane);
      of.lse.push_back(static_cast<float>(seen.lse));
      for (const auto& [at, weight] : seen.weights)
        of.expected[static_cast<std::size_t>(at)] += static_cast<float>(
            weight / std::exp(lane.at(at).log_count) / static_cast<double>(shape.n_heads));
    }
  }
  return of;
}

std::vector<float> shares_of(CacheDriver& driver, std::size_t layer, const Queries& queries,
                             bool& is_shown) {
  std::vector<float> shares(driver.cache().n_tokens());
  std::vector<std::byte> work(attention_work_bytes(driver.cache()));
  EXPECT_TRUE(driver.cache().refresh_lanes().ok() && driver.cache().fetch_lanes(layer).ok());
  const auto added = add_attention(driver.cache(), layer,
                                   {.q = queries.q.data(),
                                    .lse = queries.lse.data(),
                                    .positions = queries.positions.data(),
                                    .positions_here = queries.positions},
                                   work.data(), shares);
  EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().message);
  is_shown = added.ok() && *added;
  return shares;
}

TEST(AttentionShares, of_every_recipe_are_the_softmax_weights_over_what_the_lanes_hold) {
  for (const std::string& name : recipe_names()) {
    SCOPED_TRACE(name);
    CacheDriver driver(small(name));
    driver.check_attention = false;
    read_chat(driver);
    const auto n = static_cast<std::int32_t>(driver.cache().n_tokens());
    for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer) {
      const Queries queries = queries_of(driver, layer, {n - 130, n - 64, n - 1});
      bool is_shown = false;
      const std::vector<float> shares = shares_of(driver, layer, queries, is_shown);
      EXPECT_TRUE(is_shown);
      for (std::size_t t = 0; t < shares.size(); ++t)
        ASSERT_NEAR(shares[t], queries.expected[t], 2e-5 + 1e-3 * queries.expected[t])
            << "layer " << layer << " token " << t;
    }
  }
}

TEST(AttentionShares, of_an_exact_cache_each_query_gives_all_of_its_attention) {
  CacheDriver driver(small("full"));
  read_chat(driver);
  const auto n = static_cast<std::int32_t>(driver.cache().n_tokens());
  bool is_shown = false;
  const auto shares = shares_of(driver, 0, queries_of(driver, 0, {n / 2, n - 1}), is_shown);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 2, 1e-4);
}

TEST(AttentionShares, a_window_takes_no_part_unless_every_layer_has_one) {
  CacheDriver::Setup setup = small("full");
  setup.windows = {128, 0};
  CacheDriver mixed(setup);
  setup.windows = {128, 128};
  CacheDriver windows(setup);
  for (CacheDriver* driver : {&mixed, &windows}) {
    read_chat(*driver);
    const auto n = static_cast<std::int32_t>(driver->cache().n_tokens());
    const Queries queries = queries_of(*driver, 0, {n - 1});
    bool is_shown = false;
    const std::vector<float> shares = shares_of(*driver, 0, queries, is_shown);
    EXPECT_EQ(is_shown, driver == &windows);
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    EXPECT_NEAR(sum, is_shown ? 1 : 0, 1e-4);
    EXPECT_EQ(shares.front(), 0);
  }
}

TEST(AttentionShares, looking_changes_nothing_that_is_held) {
  CacheDriver driver(small("satchel"));
  driver.check_attention = false;
  read_chat(driver);
  const std::vector<std::byte> before = driver.bytes();
  const auto n = static_cast<std::int32_t>(driver.cache().n_tokens());
  bool is_shown = false;
  (void)shares_of(driver, 1, queries_of(driver, 1, {n - 1}), is_shown);
  EXPECT_EQ(driver.bytes(), before);
}

}  // namespace
}  // namespace satchel::kvcache
