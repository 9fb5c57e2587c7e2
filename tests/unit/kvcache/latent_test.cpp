// Latent lanes: one row of a token is its key and its value. What holds of other lanes holds of
// them too; they take half; what changes values apart from keys is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cache_walk.h"
#include "kvcache/planning/memory_planner.h"
#include "kvcache/recipes/pipeline.h"
#include "snapshot_fixture.h"
#include "support/sanitized.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

bool merges(const std::string& name) {
  const Recipe recipe = Recipe::builtin(name).value();
  return recipe.pipeline().decides() && recipe.pipeline().merger().merges();
}

std::vector<std::string> recipes_that(bool merge) {
  std::vector<std::string> names;
  for (const std::string& name : recipe_names())
    if (merges(name) == merge) names.push_back(name);
  return names;
}

CacheDriver::Setup latent(std::uint64_t seed) {
  constexpr std::array<std::size_t, 4> kDims = {48, 64, 80, 96};
  return {.n_layers = 2,
          .n_heads = seed % 2 == 0 ? 16u : 3u,
          .n_kv_heads = 1,
          .head_dim = kDims[seed % kDims.size()],
          .is_latent = true,
          .seed = seed,
          .backend = seed % 3 == 0 ? "reference" : "cpu"};
}

std::string test_name(const testing::TestParamInfo<std::string>& row) {
  std::string name = row.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class LatentWalk : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Builtin, LatentWalk, testing::ValuesIn(recipes_that(false)), test_name);

TEST_P(LatentWalk, holds_what_it_must_after_any_operation) {
  for (std::uint64_t seed = 2; seed <= (test::kSanitized ? 2 : 3) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CacheWalk walk(GetParam(), latent(seed));
    walk.run(22);
  }
}

TEST_P(LatentWalk, holds_what_it_must_where_memory_is_short) {
  std::size_t n_full = 0;
  for (std::uint64_t seed = test::kSanitized ? 12 : 11; seed <= 12 && !HasFailure(); ++seed) {
    CacheDriver::Setup setup = latent(seed);
    setup.recipe = GetParam();
    const CacheDriver of(setup);
    setup.arena_bytes = cache_need(of.shape(), of.recipe(), 300)->total() + seed % 2 * 20000;
    CacheWalk walk(GetParam(), setup);
    walk.run(28);
    n_full += walk.n_full();
  }
  EXPECT_GT(n_full, 0u) << "memory was never short";
}

TEST_P(LatentWalk, goes_on_alike_after_it_was_saved_and_restored) {
  CacheWalk walk(GetParam(), latent(21));
  walk.run_on(10);
  walk.save_restore_and_go_on(8);
}

// As long as DeepSeek's rows; read with the attention of every chunk compared with plain loops.
// Codecs with planes of their own take 256 values at most, of any model; no preset has one.
TEST_P(LatentWalk, reads_rows_of_576_values) {
  const CacheShape row{
      .layers = {{.n_heads = 4, .n_kv_heads = 1, .head_dim = 576, .is_latent = true}}};
  const auto made = TierLayouts::make(row, Recipe::builtin(GetParam())->pipeline());
  if (!made.ok()) {
    EXPECT_EQ(made.error().code, "PAGE_LAYOUT");
    for (const char* preset : {"full", "ladder-4", "satchel"}) EXPECT_NE(GetParam(), preset);
    return;
  }
  CacheDriver::Setup setup = latent(2);
  setup.recipe = GetParam();
  setup.n_layers = 1;
  setup.n_heads = 2;
  setup.head_dim = 576;
  CacheDriver driver(setup);
  const auto read = driver.read(220);
  ASSERT_TRUE(read.ok()) << read.error().message;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(driver.step().ok());
  EXPECT_LE(driver.worst_error, 1e-3);
}

class LatentRefusal : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Builtin, LatentRefusal, testing::ValuesIn(recipes_that(true)), test_name);

TEST_P(LatentRefusal, says_what_a_merger_lacks) {
  CacheDriver::Setup setup = latent(1);
  const CacheDriver of(setup);
  const Recipe recipe = Recipe::builtin(GetParam()).value();
  const auto cache = Cache::open(of.shared_arena(), of.shape(), recipe);
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(cache.error().code, "RECIPE_LATENT");
  EXPECT_THAT(cache.error().message, HasSubstr("Use a recipe without a merger"));
  EXPECT_EQ(cache_need(of.shape(), recipe, 300).error().code, "RECIPE_LATENT");
}

struct Held {
  CacheStats stats;
  std::size_t saved = 0;
};

Held held_by(const std::string& recipe, bool is_latent) {
  CacheDriver::Setup setup = latent(1);
  setup.recipe = recipe;
  setup.head_dim = 64;
  setup.is_latent = is_latent;
  test::MemoryRecordStore store;
  Saved cache(store, setup);
  EXPECT_TRUE(cache.driver.read(1500).ok());
  const auto saved = cache.save();
  EXPECT_TRUE(saved.ok());
  return {.stats = cache.driver.cache().stats(), .saved = saved->bytes_total};
}

// All that grows with the text; positions are held once either way.
TEST(LatentLanes, take_half_in_memory_and_on_disk) {
  for (const char* recipe : {"full", "ladder-4", "kivi-4"}) {
    SCOPED_TRACE(recipe);
    const Held two = held_by(recipe, false), one = held_by(recipe, true);
    EXPECT_EQ(2 * one.stats.fp16_bytes, two.stats.fp16_bytes);
    EXPECT_EQ(one.stats.n_kept, two.stats.n_kept);
    EXPECT_LE(static_cast<double>(one.stats.body_bytes),
              0.6 * static_cast<double>(two.stats.body_bytes));
    EXPECT_LE(static_cast<double>(one.saved), 0.6 * static_cast<double>(two.saved));
    EXPECT_NEAR(one.stats.layers[0].k_bits, two.stats.layers[0].k_bits,
                0.1 * two.stats.layers[0].k_bits);
    EXPECT_EQ(one.stats.layers[0].v_bits, one.stats.layers[0].k_bits);
  }
}

}  // namespace
}  // namespace satchel::kvcache
