// The hard limit: what is taken is what was announced, failure changes nothing, decoding allocates
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache_driver.h"
#include "support/count_allocations.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

TEST(Memory, a_pool_below_the_least_is_refused_and_the_least_is_named) {
  const CacheDriver roomy({.n_layers = 2});
  const std::size_t least = cache_need(roomy.shape(), roomy.recipe(), 128)->total();
  CacheHome home;
  home.backend = kernels::open_backend("reference", {}).value();
  home.arena = Arena::open(home.backend, least - 1).value();
  const auto cache = Cache::open(home, roomy.shape(), roomy.recipe());
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().code, "MEMORY");
  EXPECT_THAT(cache.error().message, HasSubstr("KiB"));
  home.arena = Arena::open(home.backend, least).value();
  EXPECT_TRUE(Cache::open(home, roomy.shape(), roomy.recipe()).ok());
}

TEST(Memory, a_dropped_prompt_leaves_no_trace_at_any_layer) {
  for (const char* recipe : {"full", "minikv"}) {
    CacheDriver driver({.recipe = recipe});
    CacheDriver untouched({.recipe = recipe});
    for (CacheDriver* each : {&driver, &untouched}) {
      each->check_attention = false;
      ASSERT_TRUE(each->read(333).ok());
      for (int i = 0; i < 10; ++i) ASSERT_TRUE(each->step().ok());
    }
    const std::vector<std::byte> before = driver.bytes();
    const std::size_t used = driver.cache().arena().used_bytes();
    for (int layer = 0; layer <= 3; ++layer) {
      ASSERT_TRUE(driver.read(300, {.stop_after_layer = layer}).ok());
      EXPECT_EQ(driver.bytes(), before) << "dropped before layer " << layer;
      EXPECT_EQ(driver.cache().arena().used_bytes(), used);
    }
    for (CacheDriver* each : {&driver, &untouched}) ASSERT_TRUE(each->read(300).ok());
    EXPECT_EQ(driver.bytes(), untouched.bytes());
  }
}

TEST(Memory, a_step_that_has_no_page_left_fails_before_it_changes_anything) {
  CacheDriver::Setup setup{.recipe = "minikv", .n_layers = 2, .n_heads = 2, .n_kv_heads = 1};
  const CacheDriver roomy(setup);
  setup.arena_bytes = cache_need(roomy.shape(), roomy.recipe(), 128)->total();
  CacheDriver driver(setup);
  Result<void> step;
  while ((step = driver.step()).ok()) ASSERT_LT(driver.cache().n_tokens(), 5000u);
  EXPECT_EQ(step.error().code, "CACHE_FULL");
  const std::vector<std::byte> before = driver.bytes();
  EXPECT_FALSE(driver.step().ok());
  EXPECT_EQ(driver.bytes(), before);
  EXPECT_EQ((driver.cache().n_tokens() - 4) % 128, 127u);  // the next one fills a tail
  driver.cache().clear();
  EXPECT_TRUE(driver.step().ok());
}

TEST(Memory, an_abandoned_step_is_taken_back_by_the_next) {
  CacheDriver driver({});
  CacheDriver untouched({});
  for (const std::size_t n : {2u, 3u, 260u}) {
    for (CacheDriver* each : {&driver, &untouched})
      while (each->cache().n_tokens() < n) ASSERT_TRUE(each->step().ok());
    ASSERT_TRUE(driver.cache().begin_step().ok());
    ASSERT_TRUE(driver.cache().append(0, driver.k(0, n).data(), driver.v(0, n).data()).ok());
    for (CacheDriver* each : {&driver, &untouched}) ASSERT_TRUE(each->step().ok());
    EXPECT_EQ(driver.bytes(), untouched.bytes());
  }
}

TEST(Memory, decode_steps_allocate_nothing) {
  for (const char* recipe : {"full", "minikv"}) {
    CacheDriver driver({.recipe = recipe, .backend = "cpu"});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(300).ok());
    const std::vector<float> k = driver.k(0, 0), v = driver.v(0, 0);
    Cache& cache = driver.cache();
    const std::size_t before = test::allocations_so_far();
    for (int i = 0; i < 600; ++i) {  // four flushes of each lane
      ASSERT_TRUE(cache.begin_step().ok());
      for (std::size_t layer = 0; layer < 3; ++layer) {
        ASSERT_TRUE(cache.append(layer, k.data(), v.data()).ok());
        ASSERT_EQ(cache.lanes(layer).first_lane, 2 * layer);
      }
      ASSERT_TRUE(cache.end_step().ok());
    }
    EXPECT_EQ(test::allocations_so_far() - before, 0u) << recipe;
  }
}

TEST(Memory, decoding_until_the_pool_is_full_allocates_nothing) {
  CacheDriver driver(
      {.recipe = "minikv", .n_layers = 4, .arena_bytes = 2u << 20, .backend = "cpu"});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(300).ok());  // lanes of different lengths
  const std::vector<float> k = driver.k(0, 0), v = driver.v(0, 0);
  Cache& cache = driver.cache();
  std::size_t before = test::allocations_so_far();
  while (cache.begin_step().ok()) {
    for (std::size_t layer = 0; layer < 4; ++layer)
      (void)cache.append(layer, k.data(), v.data()).ok();
    (void)cache.end_step().ok();
    ASSERT_EQ(test::allocations_so_far(), before) << cache.n_tokens();
    before = test::allocations_so_far();
  }
  EXPECT_GT(cache.n_tokens(), 400u);
}

}  // namespace
}  // namespace satchel::kvcache
