// The hard limit: what is taken is what was announced, failure changes nothing, decoding allocates
// nothing but longer lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache_driver.h"
#include "kvcache/recipes/pipeline.h"
#include "support/count_allocations.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

TEST(Memory, an_arena_below_the_least_is_refused_and_the_least_is_named) {
  const CacheDriver roomy({.n_layers = 2});
  const std::size_t least = cache_need(roomy.shape(), roomy.recipe(), 128)->total();
  const std::shared_ptr<kernels::Backend> backend = kernels::open_backend("reference", {}).value();
  const auto cache =
      Cache::open(Arena::open(backend, least - 1).value(), roomy.shape(), roomy.recipe());
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.error().code, "MEMORY");
  EXPECT_THAT(cache.error().message, HasSubstr("kB"));
  EXPECT_TRUE(Cache::open(Arena::open(backend, least).value(), roomy.shape(), roomy.recipe()).ok());
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

// A step as a model takes it, with buffers of its own.
class PlainStep {
 public:
  explicit PlainStep(CacheDriver& driver) : driver_(driver) {
    const LayerShape& layer = driver.shape().layers[0];
    q_ = driver.q(0, 0);
    k_ = driver.k(0, 0);
    v_ = driver.v(0, 0);
    out_.resize(q_.size());
    lse_.resize(layer.n_heads);
  }
  Result<void> take() {
    Cache& cache = driver_.cache();
    const auto position = static_cast<std::int32_t>(cache.n_tokens());
    const kernels::Batch batch{
        .positions = &position, .n_tokens = 1, .position_min = position, .position_max = position};
    SATCHEL_TRY(cache.begin_step());
    for (std::size_t i = 0; i < driver_.shape().n_layers(); ++i) {
      const LayerShape& layer = driver_.shape().layers[i];
      SATCHEL_TRY(cache.append(i, k_.data(), v_.data()));
      SATCHEL_TRY(cache.choose_pages(i, q_.data()));
      const kernels::Sequence lanes = cache.lanes(i);
      SATCHEL_TRY(driver_.backend().attend({.q = q_.data(),
                                            .n_heads = layer.n_heads,
                                            .n_kv_heads = layer.n_kv_heads,
                                            .head_dim = layer.head_dim,
                                            .batch = batch,
                                            .sequences = {&lanes, 1},
                                            .scale = layer.attention_scale,
                                            .rope = layer.rope(),
                                            .out = out_.data(),
                                            .lse = lse_.data()}));
      if (cache.needs_step()) SATCHEL_TRY(cache.observe_step(i, q_.data(), lse_.data(), batch));
    }
    return cache.end_step();
  }

 private:
  CacheDriver& driver_;
  std::vector<float> q_, k_, v_, out_, lse_;
};

TEST(Memory, decode_steps_allocate_nothing) {
  for (const char* recipe : {"full", "minikv", "kvzip", "h2o", "tova", "quest", "shadowkv",
                             "retroinfer", "a2ats", "tidal", "double-sparsity"}) {
    CacheDriver driver({.recipe = recipe, .backend = "cpu"});
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(700).ok());
    ASSERT_TRUE(driver.probe_all(512).ok());
    ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::idle).ok());
    PlainStep step(driver);
    ASSERT_TRUE(step.take().ok());  // the backend takes what it works in
    const bool decides = driver.recipe().pipeline().requirements(nullptr).decoding;
    std::size_t n_counted = 0, n_flushes = 0;
    for (int i = 0; i < 400; ++i) {
      const std::size_t tail = driver.view(0, 0).runs.back().n_tokens;
      const std::size_t before = test::allocations_so_far();
      const Result<void> taken = step.take();
      const std::size_t n = test::allocations_so_far() - before;
      ASSERT_TRUE(taken.ok()) << recipe << ": " << taken.error().message;
      const bool flushes = driver.view(0, 0).runs.back().n_tokens < tail;
      n_flushes += flushes ? 1u : 0u;
      if (flushes && decides) continue;  // all text is decided anew, which is no step
      ASSERT_EQ(n, 0u) << recipe << ", step " << i;
      ++n_counted;
    }
    EXPECT_GE(n_flushes, 3u) << recipe;
    EXPECT_GT(n_counted, 390u) << recipe;
  }
}

TEST(Memory, decoding_until_the_arena_is_full_allocates_at_eighth_flushes_only) {
  CacheDriver driver(
      {.recipe = "minikv", .n_layers = 4, .arena_bytes = 12u << 20, .backend = "cpu"});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(300).ok());  // lanes of different lengths
  const std::vector<float> k = driver.k(0, 0), v = driver.v(0, 0);
  Cache& cache = driver.cache();
  std::vector<std::size_t> allocated_at;
  std::size_t before = test::allocations_so_far();
  while (cache.begin_step().ok()) {
    for (std::size_t layer = 0; layer < 4; ++layer)
      (void)cache.append(layer, k.data(), v.data()).ok();
    (void)cache.end_step().ok();
    if (test::allocations_so_far() != before) allocated_at.push_back(cache.n_tokens());
    before = test::allocations_so_far();
  }
  EXPECT_GE(allocated_at.size(), 3u);
  for (std::size_t i = 1; i < allocated_at.size(); ++i)
    EXPECT_EQ((allocated_at[i] - allocated_at[i - 1]) % (kFlushesReserved * kFlushTokens), 0u);
}

}  // namespace
}  // namespace satchel::kvcache
