// Drafts: what they attend to, by plain loops, and that nothing of them stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "unit/kvcache/cache_driver.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kPages = 2;

kernels::Batch batch_at(const std::int32_t& position) {
  return {
      .positions = &position, .n_tokens = 1, .position_min = position, .position_max = position};
}

// The logsumexp of what q sees of a layer.
std::vector<float> lse_of(CacheDriver& driver, std::size_t layer, const std::vector<float>& q,
                          const kernels::Batch& batch) {
  const LayerShape& shape = driver.shape().layers[layer];
  const kernels::Sequence lanes = driver.cache().lanes(layer);
  std::vector<float> out(q.size()), lse(shape.n_heads);
  EXPECT_TRUE(driver.backend()
                  .attend({.q = q.data(),
                           .n_heads = shape.n_heads,
                           .n_kv_heads = shape.n_kv_heads,
                           .head_dim = shape.head_dim,
                           .batch = batch,
                           .sequences = {&lanes, 1},
                           .scale = shape.attention_scale,
                           .rope = shape.rope(),
                           .out = out.data(),
                           .lse = lse.data()})
                  .ok());
  return lse;
}

// A step that chooses pages.
void choosing_step(CacheDriver& driver) {
  Cache& cache = driver.cache();
  cache.want_draft_pages(kPages);
  EXPECT_FALSE(cache.has_draft_pages());
  ASSERT_TRUE(cache.begin_step().ok());
  ASSERT_TRUE(cache.chooses_draft_pages());
  const std::size_t at = cache.n_tokens();
  const auto position = static_cast<std::int32_t>(at);
  for (std::size_t i = 0; i < driver.shape().n_layers(); ++i) {
    const std::vector<float> q = driver.q(i, at);
    ASSERT_TRUE(cache.append(i, driver.k(i, at).data(), driver.v(i, at).data()).ok());
    const std::vector<float> lse = lse_of(driver, i, q, batch_at(position));
    ASSERT_TRUE(cache.choose_draft_pages(i, q.data(), lse.data(), batch_at(position)).ok());
  }
  ASSERT_TRUE(cache.end_step().ok());
  EXPECT_TRUE(cache.has_draft_pages());
  EXPECT_FALSE(cache.chooses_draft_pages());
}

// Attention of the query at `position` to each page of a lane, heads together.
std::vector<double> attention_to_pages(CacheDriver& driver, std::size_t layer, std::size_t head,
                                       std::size_t position) {
  const LayerShape& shape = driver.shape().layers[layer];
  const SeenLane seen = driver.see(layer, head);
  const std::vector<float> q = driver.q(layer, position);
  std::vector<double> sums;
  for (const kernels::PageView& page : driver.view(layer, head).pages) {
    double& sum = sums.emplace_back();
    for (std::size_t g = head * shape.n_group(); g < (head + 1) * shape.n_group(); ++g) {
      const Attended attended = attend_plainly(q.data() + g * shape.head_dim, shape,
                                               static_cast<std::int32_t>(position), seen);
      const auto end = attended.weights.upper_bound(page.last_position);
      for (auto w = attended.weights.lower_bound(page.first_position); w != end; ++w)
        sum += w->second;
    }
  }
  return sums;
}

std::set<std::int32_t> first_positions(const kernels::LaneView& lane) {
  std::set<std::int32_t> out;
  for (const kernels::PageView& page : lane.pages) out.insert(page.first_position);
  return out;
}

std::set<std::int32_t> expected_pages(CacheDriver& driver, std::size_t layer, std::size_t head,
                                      std::size_t position) {
  const std::vector<double> sums = attention_to_pages(driver, layer, head, position);
  const kernels::LaneView& lane = driver.view(layer, head);
  std::vector<std::size_t> order(sums.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
  std::set<std::int32_t> out;
  for (std::size_t i = 0; i < kPages; ++i) out.insert(lane.pages[order[i]].first_position);
  return out;
}

void append_to_all(CacheDriver& driver, std::size_t position, std::size_t n_layers) {
  for (std::size_t i = 0; i < n_layers; ++i)
    ASSERT_TRUE(
        driver.cache().append(i, driver.k(i, position).data(), driver.v(i, position).data()).ok());
}

TEST(DraftPages, are_those_that_had_most_of_the_attention) {
  for (const char* recipe : {"full", "kivi-4"}) {
    CacheDriver driver({.recipe = recipe});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(1000).ok());
    const std::size_t at = driver.cache().n_tokens();
    choosing_step(driver);
    std::vector<std::set<std::int32_t>> expected;
    for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer)
      for (std::size_t head = 0; head < driver.shape().layers[layer].n_kv_heads; ++head) {
        ASSERT_GT(driver.view(layer, head).pages.size(), kPages) << recipe;
        expected.push_back(expected_pages(driver, layer, head, at));
      }
    ASSERT_TRUE(driver.cache().begin_draft().ok());
    for (std::size_t layer = 0, lane = 0; layer < driver.shape().n_layers(); ++layer)
      for (std::size_t head = 0; head < driver.shape().layers[layer].n_kv_heads; ++head, ++lane)
        EXPECT_EQ(first_positions(driver.view(layer, head)), expected[lane]) << recipe;
  }
}

TEST(Drafts, stand_behind_each_other_and_leave_no_trace) {
  CacheDriver driver({}), untouched({});
  for (CacheDriver* each : {&driver, &untouched}) {
    each->check_attention = false;
    ASSERT_TRUE(each->read(600).ok());
    choosing_step(*each);
  }
  for (const std::size_t n_layers_of_last : {3u, 1u, 0u}) {
    Cache& cache = driver.cache();
    const std::size_t at = cache.n_tokens();
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(cache.begin_draft().ok());
      EXPECT_EQ(cache.n_drafted(), i);
      append_to_all(driver, at + i, 3);
      const kernels::ExactRun& tail = driver.view(0, 0).runs.back();
      EXPECT_EQ(tail.positions[tail.n_tokens - 1], static_cast<std::int32_t>(at + i));
      cache.end_draft();
    }
    ASSERT_TRUE(cache.begin_draft().ok());
    append_to_all(driver, at + 3, n_layers_of_last);
    EXPECT_EQ(cache.n_tokens(), at);
    for (CacheDriver* each : {&driver, &untouched}) ASSERT_TRUE(each->step().ok());
    EXPECT_EQ(cache.n_drafted(), 0u);
    EXPECT_EQ(first_positions(driver.view(0, 0)), first_positions(untouched.view(0, 0)));
    EXPECT_EQ(driver.bytes(), untouched.bytes());
  }
}

TEST(DraftPages, that_are_gone_are_not_read) {
  CacheDriver driver({});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(1000).ok());
  choosing_step(driver);
  ASSERT_TRUE(driver.truncate(300).ok());
  ASSERT_TRUE(driver.cache().begin_draft().ok());
  for (const std::int32_t first : first_positions(driver.view(0, 0))) EXPECT_LT(first, 300);
}

}  // namespace
}  // namespace satchel::kvcache
