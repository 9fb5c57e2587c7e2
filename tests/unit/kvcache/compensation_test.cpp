// RazorAttention's compensation token: worked out by hand, read by attention, and in a cache.
#include <gmock/gmock.h>

#include <numeric>

#include "support/lanes.h"
#include "support/questions.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/merged_lane.h"

namespace satchel::kvcache {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// arXiv:2407.15891. Means of tokens 1, 2 and 4, whose carrier is the last: 0 and 3 are protected.
TEST(Compensation, leaves_the_mean_of_what_is_dropped_in_the_oldest_token_that_is_not_protected) {
  MergedLane lane;
  lane.add({.k = {9, 9}, .v = {9, 9}, .is_protected = true});
  lane.add({.k = {3, 0}, .v = {30, 6}, .kept = false});
  lane.add({.k = {0, 3}, .v = {0, 6}, .kept = false});
  lane.add({.k = {8, 8}, .v = {8, 8}, .is_protected = true});
  lane.add({.k = {3, 3}, .v = {60, 0}});
  lane.add({.k = {7, 7}, .v = {7, 7}});
  lane.merge("compensation");
  EXPECT_THAT(lane.key_pair(4), ElementsAre(2, 2));
  EXPECT_THAT(lane.value_pair(4), ElementsAre(30, 4));
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 1, 1, 3, 1));
  EXPECT_THAT(lane.key_pair(0), ElementsAre(9, 9));
  EXPECT_THAT(lane.key_pair(3), ElementsAre(8, 8));
  EXPECT_THAT(lane.key_pair(5), ElementsAre(7, 7));
}

TEST(Compensation, leaves_nothing_where_nothing_is_dropped_or_all_that_is_kept_is_protected) {
  for (const bool drops : {false, true}) {
    MergedLane lane;
    lane.add({.k = {3, 0}, .v = {30, 6}, .kept = !drops});
    lane.add({.k = {0, 3}, .v = {0, 6}, .is_protected = drops});
    const auto k = lane.k, v = lane.v;
    lane.merge("compensation");
    EXPECT_EQ(lane.k, k);
    EXPECT_EQ(lane.v, v);
    EXPECT_THAT(lane.counts, Each(1));
  }
}

TEST(Compensation, what_is_not_there_has_no_part_in_it) {
  MergedLane lane;
  lane.add({.k = {100, 0}, .score = kNotThere, .kept = false});
  lane.add({.k = {2, 0}, .kept = false});
  lane.add({.k = {4, 0}});
  lane.merge("compensation");
  EXPECT_THAT(lane.key_pair(2), ElementsAre(3, 0));
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 2));
}

// What attention reads from a page of the lane's kept tokens with their counts, and from all.
struct Readings {
  test::Answer merged, full;
};
Readings read_both(MergedLane& lane) {
  const std::size_t n = lane.tiers.size(), d = lane.head_dim;
  std::vector<std::int32_t> all(n), positions;
  std::iota(all.begin(), all.end(), 0);
  const std::vector<Half> k = lane.k, v = lane.v;
  const std::vector<kernels::ExactRun> full = {{k.data(), v.data(), all.data(), n}};
  lane.merge("compensation");
  std::vector<Half> kept_k, kept_v;
  std::vector<float> log_counts;
  for (std::size_t t = 0; t < n; ++t) {
    if (lane.tiers[t] == kGone) continue;
    kept_k.insert(kept_k.end(), lane.k.begin() + long(t * d), lane.k.begin() + long((t + 1) * d));
    kept_v.insert(kept_v.end(), lane.v.begin() + long(t * d), lane.v.begin() + long((t + 1) * d));
    positions.push_back(all[t]);
    log_counts.push_back(std::log(lane.counts[t]));
  }
  const kernels::PageLayout layout =
      kernels::page_layout({.head_dim = d, .has_log_counts = true}).value();
  std::vector<std::byte> bytes;
  const kernels::ExactRun run{kept_k.data(), kept_v.data(), positions.data(), positions.size()};
  const std::vector<kernels::PageView> pages = {
      test::encode_page(layout, run, bytes, log_counts.data())};
  const auto backend = test::open_reference();
  const test::Question question{
      .n_tokens = 5, .n_group = 2, .head_dim = d, .first_position = static_cast<std::int32_t>(n)};
  return {.merged = ask(*backend, question, {{.runs = {}, .pages = pages}}),
          .full = ask(*backend, question, {{.runs = full, .pages = {}}})};
}

// Ra1.
TEST(Compensation, of_equal_tokens_reads_as_if_none_had_gone) {
  const std::vector<Half> k = test::random_halves(12 * 64, 64, 1);
  const std::vector<Half> v = test::random_halves(12 * 64, 64, 2);
  const auto row = [](const std::vector<Half>& rows, std::size_t t) {
    std::vector<float> out;
    for (std::size_t i = 0; i < 64; ++i) out.push_back(half_to_float(rows[t * 64 + i]));
    return out;
  };
  MergedLane lane;
  lane.head_dim = 64;
  for (std::size_t t = 0; t < 40; ++t) {  // 3 to 29 are like the 30th
    const std::size_t like = t < 3 ? t : t <= 30 ? 3 : t - 28;
    lane.add({.k = row(k, like),
              .v = row(v, like),
              .kept = t < 3 || t >= 30,
              .is_protected = t < 3 || t > 30});
  }
  const Readings readings = read_both(lane);
  EXPECT_EQ(lane.counts[30], 28);
  EXPECT_LE(test::distance(readings.merged.out, readings.full.out), 1e-6);
  EXPECT_THAT(readings.merged.lse, Pointwise(FloatNear(1e-5f), readings.full.lse));
}

TEST(Compensation, in_a_cache_stands_for_all_that_a_lane_lost) {
  CacheDriver driver({.recipe = "razorattention", .n_layers = 2, .n_heads = 4, .head_dim = 32});
  constexpr std::size_t kText = 500;
  ASSERT_TRUE(driver.read(kText).ok());
  for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
    const std::size_t layer = lane / 2, head = lane % 2;
    const DecodedLane held = driver.decode(layer, head);
    const auto carrier = std::next(held.begin(), kSinkTokens);  // the oldest behind the first four
    const std::size_t n_lost = kText - held.size();
    EXPECT_EQ(n_lost > 0, carrier->second.log_count > 0);
    std::vector<double> k(32), v(32);
    for (std::size_t t = kSinkTokens; t < kText; ++t) {
      const bool counts = !held.contains(static_cast<std::int32_t>(t)) ||
                          t == static_cast<std::size_t>(carrier->first);
      const auto all_k = driver.k(layer, t), all_v = driver.v(layer, t);
      for (std::size_t i = 0; counts && i < 32; ++i) {
        k[i] += double{all_k[head * 32 + i]} / double(n_lost + 1);
        v[i] += double{all_v[head * 32 + i]} / double(n_lost + 1);
      }
    }
    EXPECT_NEAR(carrier->second.log_count, std::log(double(n_lost + 1)), 1e-6);
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(carrier->second.k[i], k[i], 2e-3) << lane;
      EXPECT_NEAR(carrier->second.v[i], v[i], 2e-3) << lane;
    }
    for (const auto& [position, token] : held)
      if (position != carrier->first) {
        EXPECT_EQ(token.log_count, 0) << position;
      }
  }
}

}  // namespace
}  // namespace satchel::kvcache
