// CacheContents: what a stretch of work did, told from the figures before and after it.
#include "runtime/session/cache_contents.h"

#include <gtest/gtest.h>

namespace satchel::runtime {
namespace {

// Lane-tokens at fp16, 8 bits and the recipe's two tiers.
kvcache::CacheStats stats_of(std::size_t n_first, std::size_t n_second, std::size_t n_evicted) {
  kvcache::CacheStats stats;
  stats.tiers = {{.name = "exact"},
                 {.name = "8 bits"},
                 {.name = "4 bits", .n_tokens = n_first},
                 {.name = "2 bits", .n_tokens = n_second}};
  stats.n_evicted = n_evicted;
  return stats;
}

TEST(CacheContents, tokens_that_came_to_a_coarser_tier_are_counted_once_a_step) {
  const CacheContents before(stats_of(100, 0, 0), {}), now(stats_of(60, 40, 0), {});
  EXPECT_EQ(done_between(before, now).n_lowered, 40u);
  EXPECT_EQ(done_between(before, now).n_evicted, 0u);
}

TEST(CacheContents, tokens_that_went_count_as_evicted_and_what_stands_still_as_nothing) {
  const CacheContents before(stats_of(100, 0, 0), {}), now(stats_of(70, 0, 30), {});
  EXPECT_EQ(done_between(before, now).n_evicted, 30u);
  EXPECT_EQ(done_between(before, before).n_evicted, 0u);
  EXPECT_EQ(done_between(before, before).n_lowered, 0u);
}

TEST(CacheContents, what_comes_back_from_its_rest_was_not_lowered) {
  kvcache::CacheStats some_rest = stats_of(60, 10, 30);
  some_rest.n_resting = 30;
  const CacheContents resting(some_rest, {}), back(stats_of(80, 20, 30), {});
  EXPECT_EQ(done_between(resting, back).n_lowered, 0u);
  const CacheContents lowered(stats_of(50, 50, 30), {});
  EXPECT_EQ(done_between(resting, lowered).n_lowered, 10u);  // of 40 more, 30 came back
}

TEST(CacheContents, what_the_ledger_has_noted_meanwhile_is_not_counted_again) {
  const LedgerEntry noted{.n_evicted = 20};
  const CacheContents before(stats_of(100, 0, 0), {}), now(stats_of(70, 0, 30), {&noted, 1});
  EXPECT_EQ(unnoted_between(before, now).n_evicted, 10u);
}

TEST(CacheContents, new_text_counts_as_in_fp16_before) {
  kvcache::CacheStats stats;
  stats.bytes = 50;
  stats.fp16_bytes = 200;
  const CacheContents before(stats, {});
  stats.bytes = 60;
  stats.fp16_bytes = 300;
  EXPECT_EQ(bytes_with_new_text(before, CacheContents(stats, {})), 150u);
}

TEST(CacheContents, a_cache_is_exact_until_a_token_went_or_has_fewer_bits) {
  kvcache::CacheStats stats;
  stats.layers = {{}, {}};
  EXPECT_TRUE(is_exact(stats));
  stats.layers[1].v_bits = 8;
  EXPECT_FALSE(is_exact(stats));
  stats.layers[1].v_bits = 16;
  stats.n_evicted = 1;
  EXPECT_FALSE(is_exact(stats));
}

}  // namespace
}  // namespace satchel::runtime
