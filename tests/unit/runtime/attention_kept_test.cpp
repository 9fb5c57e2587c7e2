// Attention kept: the formula, and caches of which one can say by hand what went.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/fidelity/fidelity.h"
#include "runtime/model/scratch.h"
#include "runtime/replay/replay.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

TEST(AttentionLeft, is_the_mean_share_of_each_head_and_at_most_all_of_it) {
  // Two tokens, three heads: a half and a quarter left; all of it, and a little more; nothing.
  const std::vector<float> exact = {1, 2, 3, -4, 5, 6};
  const std::vector<float> now = {1 + std::log(0.5f),   2,     kNothing,
                                  -4 + std::log(0.25f), 5.01f, kNothing};
  const auto left = attention_left(exact, now, 3);
  ASSERT_EQ(left.size(), 3u);
  EXPECT_NEAR(left[0], 0.375, 1e-6);
  EXPECT_EQ(left[1], 1);
  EXPECT_EQ(left[2], 0);
}

TEST(AttentionLeft, what_coarse_keys_take_from_one_token_and_give_to_another_evens_out) {
  const std::vector<float> exact = {3, 3}, now = {3 + std::log(0.98f), 3 + std::log(1.02f)};
  EXPECT_NEAR(attention_left(exact, now, 1)[0], 1, 1e-6);
}

TEST(AttentionSamples, are_every_eighth_token_back_from_the_last) {
  const TestModel model = tiny_model({}, "cpu");
  const AttentionSamples of_long(model.config(), 1000, nullptr);
  ASSERT_EQ(of_long.n(), 16u);
  EXPECT_EQ(of_long.token(15), 999u);
  EXPECT_EQ(of_long.token(0), 999u - 120u);
  const AttentionSamples of_short(model.config(), 9, nullptr);
  ASSERT_EQ(of_short.n(), 2u);
  EXPECT_EQ(of_short.token(0), 0u);
  EXPECT_EQ(of_short.token(1), 8u);
}

// A model whose every key is 0: each query attends to all it sees alike.
class Uniform : public testing::Test {
 protected:
  static constexpr std::size_t kTokens = 700;

  static TestModel model_without_keys(std::size_t chunk_tokens_max) {
    TinyShape shape;
    shape.keys_are_zero = true;
    return tiny_model(shape, "cpu", chunk_tokens_max);
  }
  // After reading kTokens under `recipe` and then `change`.
  template <class Change>
  static double kept(std::string_view recipe, std::size_t chunk_tokens_max, Change change) {
    TestModel model = model_without_keys(chunk_tokens_max);
    const auto cache = model.cache(recipe, 2 * kTokens);
    const auto ids = random_ids(kTokens, model.config().n_vocabulary, 3);
    const auto lease = std::move(cache->arena().take_scratch(kept_bytes(model.config(), kTokens)));
    if (!lease.ok()) ADD_FAILURE() << lease.error().message;
    const MeasuredRows exact =
        measured_rows(model.config(), kTokens, const_cast<std::byte*>(lease->data()));
    const auto read = model.model->read_prompt({.cache = *cache,
                                                .ids = ids,
                                                .stop = {},
                                                .progress = {},
                                                .last_rows = exact.rows,
                                                .samples = exact.samples});
    EXPECT_TRUE(read.ok());
    change(*cache);
    const auto share = attention_kept(*model.model, {.cache = *cache,
                                                     .end = kTokens,
                                                     .n_tokens = kTokens,
                                                     .exact = [&] { return exact.samples; },
                                                     .stop = {}});
    if (!share.ok()) ADD_FAILURE() << share.error().message;
    return share.ok() ? *share : -1;
  }
};

TEST_F(Uniform, of_an_exact_cache_all_is_kept) {
  for (const std::size_t chunk : {0u, 16u, 48u})
    EXPECT_NEAR(kept("full", chunk, [](kvcache::Cache&) {}), 1, 1e-5) << chunk;
}

TEST_F(Uniform, forgotten_tokens_take_their_share_of_what_each_token_saw) {
  // The sampled token at position p saw p + 1 tokens, of which 200 go.
  double expected = 0;
  for (std::size_t i = 0; i < 16; ++i) expected += 1 - 200.0 / double(kTokens - 8 * i);
  for (const std::size_t chunk : {0u, 48u})
    EXPECT_NEAR(
        kept("full", chunk,
             [](kvcache::Cache& cache) { EXPECT_TRUE(cache.edit().forget(100, 200).ok()); }),
        expected / 16, 1e-4);
}

TEST_F(Uniform, what_a_recipe_evicts_is_counted_from_what_it_holds) {
  std::size_t n_kept = 0, n_lanes = 0;
  const double share = kept("streamingllm", 0, [&](kvcache::Cache& cache) {
    EXPECT_TRUE(cache.compactor().compact(kvcache::TriggerEvent::idle).ok());
    const kvcache::CacheStats stats = cache.stats();
    n_lanes = (stats.n_kept + stats.n_evicted) / kTokens;
    n_kept = stats.n_kept / n_lanes;
    EXPECT_GT(stats.n_evicted, 0u);
  });
  ASSERT_EQ(n_lanes, 4u);
  // Which tokens stay is the same in all lanes: the first ones and the last ones, so that all that
  // went stood before every sampled token.
  double expected = 0;
  for (std::size_t i = 0; i < 16; ++i)
    expected += 1 - double(kTokens - n_kept) / double(kTokens - 8 * i);
  EXPECT_NEAR(share, expected / 16, 1e-3);
}

}  // namespace
}  // namespace satchel::runtime
