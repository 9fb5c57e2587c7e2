// Random sequences of operations on caches of every recipe; after each, everything that must hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "cache_walk.h"
#include "kvcache/recipes/pipeline.h"
#include "kvcache/stages/apportion.h"
#include "snapshot_fixture.h"
#include "support/sanitized.h"

namespace satchel::kvcache {
namespace {

using test::kSanitized;

class RandomWalk : public testing::TestWithParam<std::string> {};

CacheDriver::Setup roomy(std::uint64_t seed) {
  constexpr std::array<std::size_t, 5> kDims = {32, 64, 80, 96, 128};
  return {.n_heads = 1 + seed % 2 * 3,
          .n_kv_heads = 1 + seed % 2,
          .head_dim = kDims[seed % kDims.size()],
          .windows = {0, 0, seed % 3 == 1 ? 150u : 0u},
          .seed = seed,
          .backend = seed % 4 == 0 ? "reference" : "cpu"};
}

TEST_P(RandomWalk, holds_what_it_must_after_any_operation) {
  std::size_t n_interrupted = 0;
  const std::uint64_t first = kSanitized ? 3 : 1, last = kSanitized ? 3 : 4;
  for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CacheWalk walk(GetParam(), roomy(seed));
    walk.run(22);
    n_interrupted += walk.n_interrupted();
  }
  if (GetParam() == "kvzip") {
    EXPECT_GT(n_interrupted, 0u);
  }
}

TEST_P(RandomWalk, holds_what_it_must_where_memory_is_short) {
  std::size_t n_full = 0;
  for (std::uint64_t seed = kSanitized ? 12 : 11; seed <= 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CacheDriver::Setup setup{.recipe = GetParam() == kPackedH2o ? "h2o" : GetParam(),
                             .n_heads = 2,
                             .n_kv_heads = 2,
                             .head_dim = 64,
                             .backend = "cpu"};
    const CacheDriver of(setup);
    setup.arena_bytes = cache_need(of.shape(), of.recipe(), 300)->total() + seed % 2 * 40000;
    setup.seed = seed;
    CacheWalk walk(GetParam(), setup);
    walk.run(28);
    n_full += walk.n_full();
  }
  EXPECT_GT(n_full, 0u) << "memory was never short";
}

TEST_P(RandomWalk, goes_on_alike_after_it_was_saved_and_restored) {
  for (std::uint64_t seed = 21; seed <= (kSanitized ? 21 : 22) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CacheWalk walk(GetParam(), roomy(seed));
    walk.run_on(10);
    walk.save_restore_and_go_on(8);
  }
}

std::vector<std::string> walked_recipes() {
  std::vector<std::string> names = recipe_names();
  names.emplace_back(kPackedH2o);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Builtin, RandomWalk, testing::ValuesIn(walked_recipes()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// What a scorer adds to while decoding must not begin with what a dropped text left there.
TEST(Drop, leaves_no_scores_behind_for_the_tokens_that_stand_there_later) {
  CacheDriver driver({.recipe = "h2o", .backend = "cpu"});
  CacheDriver untouched({.recipe = "h2o", .backend = "cpu"});
  for (CacheDriver* each : {&driver, &untouched}) {
    each->check_attention = false;
    ASSERT_TRUE(each->read(333).ok());
  }
  for (int layer = 1; layer <= 3; ++layer)
    ASSERT_TRUE(driver.read(300, {.stop_after_layer = layer}).ok());
  EXPECT_EQ(driver.arena().used_bytes(), untouched.arena().used_bytes());
  driver.reads_on_as(untouched);
  ASSERT_TRUE(driver.truncate(333).ok());
  for (CacheDriver* each : {&driver, &untouched}) {
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(each->step().ok());
    ASSERT_TRUE(each->cache().compactor().end_turn().ok());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(each->step().ok());
  }
  EXPECT_TRUE(driver.bytes() == untouched.bytes());
}

// Protected tokens included, over all lanes; no other count is right.
TEST(Budgets, lanes_keep_together_exactly_the_share_of_the_recipe) {
  for (const std::string& recipe : std::vector<std::string>{
           "minikv", "kvzip", "xkv", "ada-kv", "snapkv", "d2o", "h2o", "tova", "zipcache-2t"})
    for (const double keep : {0.15, 0.6}) {
      if (kSanitized && keep > 0.15) break;
      const auto builtin = Recipe::builtin(recipe);
      ASSERT_TRUE(builtin.ok());
      const bool evicts = builtin->pipeline().keep() < 1;
      CacheDriver driver({.recipe = recipe, .keep = evicts ? keep : 0, .backend = "cpu"});
      driver.check_attention = false;
      ASSERT_TRUE(driver.read(700, {.chunk = 300}).ok());
      ASSERT_TRUE(driver.probe_all(512).ok());
      ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::idle).ok());
      const TokenSpan span{.n_layers = 3, .n_lanes = 6, .n_tokens = 700, .keep = evicts ? keep : 1};
      const std::size_t least = 6 * driver.recipe().pipeline().n_protected(span);
      const CacheStats stats = driver.cache().stats();
      EXPECT_EQ(stats.n_kept, std::max(keep_total(span), least)) << recipe << " " << keep;
      EXPECT_EQ(stats.n_evicted, 6 * 700 - stats.n_kept) << recipe << " " << keep;
    }
}

}  // namespace
}  // namespace satchel::kvcache
