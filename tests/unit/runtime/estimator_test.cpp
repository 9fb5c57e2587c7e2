// The promise: what is then allocated is at most the estimate and at least 95 % of it.
#include "runtime/governor/estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/governor/presets.h"
#include "runtime/model/scratch.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
constexpr std::size_t kPlenty = std::size_t{1} << 40;

void expect_promise(TestModel& model, std::string_view recipe_name, std::size_t n_tokens) {
  const auto recipe = resolve_recipe(recipe_name);
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  const auto need =
      estimate(model.config(), 0, *recipe, {.n_tokens = n_tokens, .budget_bytes = kPlenty});
  ASSERT_TRUE(need.ok()) << need.error().message;
  const auto cache = model.cache(recipe_name, n_tokens);  // of exactly that size
  // As a session leases it around each reading.
  const auto kept = cache->pool().take_scratch(fidelity_bytes(model.config(), n_tokens));
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  model.read(*cache, random_ids(n_tokens, model.config().n_vocabulary, 5));
  const kvcache::CacheStats stats = cache->stats();
  EXPECT_LE(stats.pool_bytes, need->pool_bytes);
  EXPECT_LE(stats.pool_peak_bytes, need->pool_bytes);
  if (n_tokens >= kernels::kPageTokens) {  // no cache is made for less
    EXPECT_GE(static_cast<double>(stats.pool_peak_bytes),
              0.95 * static_cast<double>(need->pool_bytes))
        << recipe_name << " " << n_tokens;
  }
  EXPECT_LE(stats.bytes, need->cache_bytes);
  EXPECT_GE(static_cast<double>(stats.bytes), 0.95 * static_cast<double>(need->cache_bytes))
      << recipe_name << " " << n_tokens;
  EXPECT_EQ(stats.fp16_bytes, need->fp16_bytes);
}

TEST(Estimator, holds_its_promise_on_the_bundled_model) {
  TestModel model = open_model(std::move(GgufFile::open(bundled_model())).value(), "cpu");
  for (const Preset& preset : presets())
    for (const std::size_t n : {1u, 127u, 128u, 129u, 640u}) expect_promise(model, preset.name, n);
}

TEST(Estimator, holds_its_promise_on_other_shapes) {
  for (const TinyShape& shape :
       {TinyShape{.n_layers = 1, .n_heads = 1, .n_kv_heads = 1, .width = 64, .ffn_width = 64},
        TinyShape{.n_layers = 5, .n_heads = 9, .n_kv_heads = 3, .width = 576, .ffn_width = 1536},
        TinyShape{.n_heads = 2, .n_kv_heads = 2, .head_dim = 128, .n_vocabulary = 5000}}) {
    TestModel model = tiny_model(shape, "cpu");
    for (const std::string_view recipe : {"full", "balanced", "compact", "extreme"})
      for (const std::size_t n : {200u, 1000u}) expect_promise(model, recipe, n);
  }
}

TEST(Estimator, the_tokens_that_fit_fit_and_one_more_does_not) {
  const TestModel model = tiny_model({}, "reference");
  const auto recipe = resolve_recipe("compact");
  ASSERT_TRUE(recipe.ok());
  const auto at = [&](std::size_t n_tokens, std::size_t budget_bytes) {
    return std::move(estimate(model.config(), 0, *recipe,
                              {.n_tokens = n_tokens, .budget_bytes = budget_bytes}))
        .value();
  };
  const std::size_t budget_bytes = at(1500, kPlenty).pool_bytes;
  const std::size_t n_fit = at(1, budget_bytes).n_tokens_fit;
  EXPECT_GE(n_fit, 1500u);
  EXPECT_LE(at(n_fit, kPlenty).pool_bytes, budget_bytes);
  EXPECT_GT(at(n_fit + 1, kPlenty).pool_bytes, budget_bytes);
  EXPECT_EQ(at(1, kPlenty).n_tokens_fit, model.config().context);
  EXPECT_EQ(at(1, 1).n_tokens_fit, 0u);
}

TEST(Estimator, says_whether_it_fits_budget_and_machine) {
  const TestModel model = tiny_model({}, "reference");
  const auto recipe = resolve_recipe("full");
  ASSERT_TRUE(recipe.ok());
  const auto fits = [&](std::size_t weight_bytes, std::size_t budget_bytes) {
    const auto out = estimate(model.config(), weight_bytes, *recipe,
                              {.n_tokens = 500, .budget_bytes = budget_bytes});
    return out.ok() && out->fits;
  };
  EXPECT_TRUE(fits(1000, kPlenty));
  EXPECT_FALSE(fits(1000, 1000));
  EXPECT_FALSE(fits(kPlenty, kPlenty));
  EXPECT_GT(free_memory_bytes(), std::size_t{1} << 20);
}

TEST(Estimator, no_budget_means_the_default_and_no_length_the_context) {
  const TestModel model = tiny_model({}, "reference");
  const auto recipe = resolve_recipe("full");
  const auto out = estimate(model.config(), 0, *recipe, {});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->n_tokens_fit, model.config().context);
  EXPECT_EQ(out->pool_bytes, *default_budget(model.config()));
  EXPECT_EQ(out->fp16_bytes,
            model.config().context * model.config().cache_shape().fp16_bytes_per_token());
}

TEST(Estimator, a_length_beyond_the_context_is_refused) {
  const TestModel model = tiny_model({}, "reference");
  const auto recipe = resolve_recipe("full");
  const auto out = estimate(model.config(), 0, *recipe, {.n_tokens = 5000});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().message, "tokens must be at most the model's context of 4096, is 5000.");
}

TEST(Presets, each_is_a_builtin_recipe_that_keeps_its_share) {
  double keep = 2;
  for (const Preset& preset : presets()) {
    const auto recipe = resolve_recipe(preset.name);
    ASSERT_TRUE(recipe.ok()) << recipe.error().message;
    EXPECT_EQ(recipe->name(), preset.recipe);
    EXPECT_EQ(recipe->keep(), preset.keep);
    EXPECT_LE(preset.keep, keep);  // most accurate first
    keep = preset.keep;
  }
}

TEST(Presets, a_path_is_a_file_and_what_is_neither_says_so) {
  const auto path = std::filesystem::path(testing::TempDir()) / "mine.json";
  std::ofstream(path) << resolve_recipe("minikv")->json();
  const auto mine = resolve_recipe(path.string());
  ASSERT_TRUE(mine.ok()) << mine.error().message;
  EXPECT_EQ(mine->hash(), resolve_recipe("minikv")->hash());
  std::ofstream(path) << std::string(70'000, ' ');
  EXPECT_THAT(resolve_recipe(path.string()).error().message, HasSubstr("longer than 64 KiB"));
  EXPECT_EQ(resolve_recipe("/no/such.json").error().kind, ErrorKind::not_found);
  EXPECT_FALSE(resolve_recipe("no such recipe").ok());
}

}  // namespace
}  // namespace satchel::runtime
