// Selection and packing of the recipe minikv, against plain loops.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache_driver.h"
#include "kvcache/stages/apportion.h"
#include "kvcache/stages/stage.h"
#include "support/open_named.h"

namespace satchel::kvcache {
namespace {

// minikv's selection with fp16 pages: what evicting does, without what rounding does.
constexpr const char* kExactSelection = R"({ "recipe": 1, "name": "t", "source": "test",
  "differs": "", "keep": 0.5,
  "trigger": { "use": "end_of_prompt", "min_tokens": 256 },
  "scorer": { "use": "attention_sum" },
  "filter": [ { "use": "protect", "sinks": 4, "tail": 128, "recent": 0.5 } ],
  "allocator": { "use": "pyramid", "delta": 7, "constant": 0.5 },
  "assigner": { "use": "top_k" }, "merger": { "use": "none" },
  "codec": { "k": "exact", "v": "exact" }, "reader": { "use": "all" } })";

// The span's kept positions as the papers would choose them, from float64 scores.
std::set<std::int32_t> chosen_plainly(const std::vector<double>& scores, std::size_t begin,
                                      std::size_t n_kept, std::size_t n_recent) {
  const std::size_t n = scores.size();
  std::vector<double> biased = scores;
  for (std::size_t i = 0; i < n; ++i)
    if (begin + i < kSinkTokens || i + n_recent >= n) biased[i] = INFINITY;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return biased[a] > biased[b]; });
  std::set<std::int32_t> kept;
  for (std::size_t i = 0; i < n_kept; ++i) kept.insert(static_cast<std::int32_t>(begin + order[i]));
  return kept;
}

TEST(MiniKv, keeps_what_plain_loops_over_the_attention_map_keep) {
  for (const std::size_t n_heads : {2u, 6u}) {  // groups of 1 and 3
    CacheDriver driver({.recipe = "minikv", .n_heads = n_heads});
    ASSERT_TRUE(driver.read(600).ok());
    for (std::size_t layer = 0; layer < 3; ++layer)
      for (std::size_t head = 0; head < 2; ++head) {
        const std::vector<std::int32_t> kept = driver.kept(layer, head);
        const auto expected = chosen_plainly(driver.scores[layer][head], 0, kept.size(), 150);
        EXPECT_EQ(std::set(kept.begin(), kept.end()), expected) << layer << " " << head;
      }
    EXPECT_LE(driver.worst_error, test::limit_on("cpu", 1e-4, 1e-3));
  }
}

TEST(MiniKv, the_second_prompt_is_chosen_by_attention_over_what_history_holds) {
  CacheDriver driver({.recipe = "minikv"});
  ASSERT_TRUE(driver.read(400).ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(driver.step().ok());
  const auto history = driver.all_kept();
  ASSERT_TRUE(driver.read(300, {.chunk = 100}).ok());
  EXPECT_LE(driver.worst_error, test::limit_on("cpu", 1e-4, 1e-3));
  for (std::size_t lane = 0; lane < history.size(); ++lane) {
    const std::vector<std::int32_t> kept = driver.kept(lane / 2, lane % 2);
    ASSERT_GT(kept.size(), history[lane].size());
    const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(history[lane].size());
    EXPECT_EQ(std::vector(kept.begin(), middle), history[lane]);  // stays as it is
    const auto expected = chosen_plainly(driver.scores[lane / 2][lane % 2], 430,
                                         static_cast<std::size_t>(kept.end() - middle), 128);
    EXPECT_EQ(std::set(middle, kept.end()), expected);
  }
}

TEST(MiniKv, any_chunking_of_the_prompt_keeps_the_same_tokens) {
  std::vector<std::vector<std::int32_t>> first;
  for (const std::size_t chunk : {1u, 2u, 128u, 300u}) {
    CacheDriver driver({.recipe = "minikv", .n_layers = 2});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(300, {.chunk = chunk}).ok());
    if (first.empty()) first = driver.all_kept();
    EXPECT_EQ(driver.all_kept(), first) << "chunks of " << chunk;
  }
}

TEST(MiniKv, compacted_lanes_and_masked_full_lanes_attend_alike) {
  for (const std::size_t n_heads : {2u, 6u}) {
    CacheDriver driver({.recipe = kExactSelection, .n_heads = n_heads});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(600).ok());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(driver.step().ok());
    ASSERT_TRUE(driver.read(300).ok());
    for (std::size_t layer = 0; layer < 3; ++layer) {
      const double error = driver.attention_error(layer, 920, [&](std::size_t head) {
        return driver.masked(layer, head, driver.kept(layer, head));
      });
      EXPECT_LE(error, 1e-4);
    }
  }
}

TEST(MiniKv, attention_reads_packed_pages_as_they_decode) {
  CacheDriver driver({.recipe = "minikv"});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(600).ok());
  for (std::size_t layer = 0; layer < 3; ++layer)
    EXPECT_LE(driver.attention_error(layer, 600,
                                     [&](std::size_t head) { return driver.decode(layer, head); }),
              1e-3);
}

TEST(MiniKv, packed_values_are_within_half_a_step_of_the_exact_ones) {
  CacheDriver driver({.recipe = "minikv"});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(600).ok());
  const DecodedLane packed = driver.decode(0, 0);
  const DecodedLane exact = driver.masked(0, 0, driver.kept(0, 0));
  double worst = 0;
  for (const auto& [position, token] : packed)
    for (std::size_t c = 0; c < 64; ++c)
      worst = std::max(worst, std::abs(double{token.k[c]} - double{exact.at(position).k[c]}));
  EXPECT_GT(worst, 0.1);                 // two bits do round
  EXPECT_LE(worst, 6.8 / 3 / 2 + 0.01);  // made-up values span at most -3.4 to 3.4
}

TEST(MiniKv, lanes_keep_together_exactly_the_share_of_the_recipe) {
  for (const double keep : {0.1, 0.25, 0.5, 0.9})
    for (const std::size_t n : {600u, 601u}) {
      CacheDriver driver({.recipe = "minikv", .keep = keep, .n_layers = 4, .n_heads = 2});
      driver.check_attention = false;
      ASSERT_TRUE(driver.read(n).ok());
      const CacheStats stats = driver.cache().stats();
      const std::size_t total =
          std::max(keep_total({.n_layers = 4, .n_lanes = 8, .n_tokens = n, .keep = keep}),
                   8 * (kSinkTokens + kTailTokens));  // protected tokens are never let go
      EXPECT_EQ(stats.n_kept, total) << keep << " of " << n;
      EXPECT_EQ(stats.n_evicted, n * 8 - total);
      for (std::size_t layer = 1; layer < 4; ++layer)
        EXPECT_LE(stats.layers[layer].n_kept_max, stats.layers[layer - 1].n_kept_min);
    }
}

TEST(MiniKv, keeping_all_or_a_short_prompt_evicts_nothing) {
  CacheDriver all({.recipe = "minikv", .keep = 1, .n_layers = 1});
  all.check_attention = false;
  ASSERT_TRUE(all.read(600).ok());
  EXPECT_EQ(all.cache().stats().n_evicted, 0u);
  EXPECT_GT(all.cache().stats().body_bytes, 0u);
  for (const std::size_t n : {255u, 256u, 257u}) {
    CacheDriver driver({.recipe = "minikv", .n_layers = 2});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(n).ok());
    EXPECT_EQ(driver.cache().stats().n_evicted > 0, n >= 256) << n;
  }
}

TEST(MiniKv, generated_tokens_are_never_evicted) {
  CacheDriver driver({.recipe = "minikv", .n_layers = 2});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(300).ok());
  const auto before = driver.all_kept();
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(driver.step().ok());
  for (std::size_t lane = 0; lane < before.size(); ++lane) {
    std::vector<std::int32_t> expected = before[lane];
    for (std::int32_t position = 300; position < 700; ++position) expected.push_back(position);
    EXPECT_EQ(driver.kept(lane / 2, lane % 2), expected);
  }
}

TEST(MiniKv, at_half_the_tokens_85_percent_of_the_body_is_saved) {
  for (const std::size_t n : {600u, 700u, 1000u}) {
    CacheDriver driver({.recipe = "minikv", .n_layers = 8, .n_heads = 2, .n_kv_heads = 1});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(n).ok());
    const CacheStats stats = driver.cache().stats();
    const double saved =
        1 - static_cast<double>(stats.body_bytes) / static_cast<double>(stats.body_fp16_bytes);
    EXPECT_GE(saved, 0.85) << n;
    RecordProperty("saved_" + std::to_string(n), std::to_string(saved));
  }
}

TEST(MiniKv, stats_count_what_is_allocated) {
  CacheDriver driver({.recipe = "minikv"});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(900).ok());
  const CacheStats stats = driver.cache().stats();
  EXPECT_EQ(stats.n_tokens, 900u);
  EXPECT_EQ(stats.fp16_bytes, 900u * 6 * 64 * 4);
  EXPECT_EQ(stats.bytes, stats.arena_used_bytes);
  std::size_t body_bytes = 0, n_body = 0;
  for (std::size_t lane = 0; lane < 6; ++lane)
    for (const kernels::PageView& page : driver.view(lane / 2, lane % 2).pages) {
      body_bytes += page.layout->bytes;
      n_body += page.n_tokens;
    }
  EXPECT_EQ(stats.body_bytes, body_bytes);
  EXPECT_EQ(stats.n_kept, n_body + 6 * (kSinkTokens + kTailTokens));
  for (const LayerStats& layer : stats.layers) {
    // 2 bits and 4 of scale and minimum; a position of 32 bits for 128 values, shared; a lane's
    //   last
    // page is rounded up to 32 tokens
    EXPECT_GE(layer.k_bits, 4.25);
    EXPECT_LE(layer.k_bits, 4.25 * 1.1);
  }
}

}  // namespace
}  // namespace satchel::kvcache
