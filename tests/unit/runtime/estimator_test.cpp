// The promise: what is then allocated is at most the estimate, which never falls.
#include "runtime/limits/estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kvcache/recipes/pipeline.h"
#include "runtime/limits/presets.h"
#include "runtime/model/scratch.h"
#include "runtime/prefill/prefill_text.h"
#include "support/source_dir.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
constexpr std::size_t kPlenty = std::size_t{1} << 40;

// As a session reads: rows aside for fidelity, the rest in spans that fit.
Result<PrefilledText> read_all(TestModel& model, kvcache::Cache& cache, std::size_t n_tokens) {
  const auto ids = random_ids(n_tokens, model.config().n_vocabulary, 5);
  const RepeatScript script{.first = {1, 2, 3, 4}, .later = {1, 2, 3, 4}, .then = {5, 6}};
  const ProgressFn silent;
  SATCHEL_TRY_ASSIGN(const auto kept,
                     cache.arena().take_scratch(kept_bytes(model.config(), n_tokens)));
  const TextPass pass{
      .cache = cache, .text = ids, .script = script, .stop = {}, .progress = silent};
  SATCHEL_TRY_ASSIGN(const PrefilledText read,
                     prefill_text(*model.model, pass, {.end = n_tokens, .kept = kept.data()}));
  SATCHEL_TRY(pack_all(*model.model, pass));
  return read;
}

// exact: of the cache's bytes, what an exact cache takes at least.
void expect_promise(TestModel& model, std::string_view recipe_name, std::size_t n_tokens,
                    double exact = 0.99) {
  const auto recipe = resolve_recipe(recipe_name);
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  ModelConfig config = model.config();
  config.context = std::max(config.context, n_tokens);  // 128 of most fixtures
  const auto need =
      estimate(config, 0, *recipe,
               {.n_tokens = n_tokens, .budget_bytes = kPlenty, .asks = {.expected_bytes = true}});
  ASSERT_TRUE(need.ok()) << need.error().message;
  const auto cache = model.cache_in(recipe_name, need->arena_bytes);
  const auto read = read_all(model, *cache, n_tokens);
  ASSERT_TRUE(read.ok()) << recipe_name << " " << n_tokens << " " << read.error().message;
  const kvcache::CacheStats stats = cache->stats();
  std::printf("%s %zu: peak %.3f of the estimate, cache %.3f, spans %zu\n",
              std::string(recipe_name).c_str(), n_tokens,
              double(stats.arena_peak_bytes) / double(need->arena_bytes),
              double(stats.bytes) / double(need->cache_bytes), read->n_spans);
  EXPECT_LE(stats.arena_bytes, need->arena_bytes);
  EXPECT_LE(stats.arena_peak_bytes, need->arena_bytes);
  EXPECT_LE(stats.bytes, need->cache_bytes) << recipe_name << " " << n_tokens;
  EXPECT_EQ(stats.fp16_bytes, need->fp16_bytes);
  // What a recipe that drops tokens keeps of one short text is whole pages, more or fewer.
  const double near = recipe->keep() == 1 ? 0.05 : 0.2;
  EXPECT_NEAR(double(stats.bytes), double(need->expected_bytes), near * double(stats.bytes))
      << recipe_name << " " << n_tokens;
  if (recipe->keep() == 1) {
    EXPECT_GE(double(stats.bytes), exact * double(need->cache_bytes)) << recipe_name;
  }
}

TEST(Estimator, holds_its_promise_on_the_bundled_model) {
  TestModel model = open_model(std::move(GgufFile::open(bundled_model())).value(), "cpu");
  for (const Preset& preset : presets())
    for (const std::size_t n : {1u, 127u, 128u, 129u, 640u, 1500u})
      expect_promise(model, preset.name, n);
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

// Layers with windows, sinks and heads of their own, that share lanes, that carry states, that are
// latent.
TEST(Estimator, holds_its_promise_for_every_kind_of_layer) {
  for (const char* name : {"gemma4_e", "gemma4_moe", "gpt_oss", "lfm2", "qwen35", "qwen35moe",
                           "qwen3next", "granitehybrid", "nemotron_h_moe", "deepseek2_q"}) {
    SCOPED_TRACE(name);
    const std::string path = test::source_dir() + "/tests/golden/model/arch_" + name + ".gguf";
    TestModel model = open_model(std::move(GgufFile::open(path)).value(), "cpu");
    for (const std::string_view recipe : {"full", "balanced", "compact", "extreme"})
      for (const std::size_t n : {1u, 127u, 129u, 1000u})
        expect_promise(model, recipe, n, 0.98);  // a window's last page may be gone
  }
}

TEST(Estimator, estimates_never_fall_as_a_chat_grows) {
  const TestModel model = open_model(std::move(GgufFile::open(bundled_model())).value(), "cpu");
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  for (const kvcache::BuiltinRecipe& recipe : kvcache::builtin_recipes())
    names.emplace_back(recipe.name);
  for (const std::string& name : names) {
    const auto recipe = resolve_recipe(name);
    ASSERT_TRUE(recipe.ok());
    if (!recipe->pipeline().check(model.config().cache_shape()).ok()) continue;  // without weights
    std::size_t last = 0, n_last = 0, n_falls = 0;
    const auto grow = [&](std::size_t n) {
      const auto need = estimate(model.config(), 0, *recipe, {.n_tokens = n, .budget_bytes = 1});
      ASSERT_TRUE(need.ok());
      if (need->arena_bytes < last && n_falls++ == 0)
        ADD_FAILURE() << name << ": " << n_last << " tokens " << last << " bytes, " << n
                      << " tokens " << need->arena_bytes;
      last = need->arena_bytes;
      n_last = n;
    };
    // Every length around the ends of tails and pages, then in steps.
    for (std::size_t n = 1; n <= 520; ++n) grow(n);
    for (std::size_t n = 521; n <= 2048; n += 3) grow(n);
  }
}

TEST(Estimator, a_chat_of_the_tokens_that_fit_can_be_read_in_that_budget) {
  TestModel model = open_model(std::move(GgufFile::open(bundled_model())).value(), "cpu");
  for (const Preset& preset : presets())
    for (const std::size_t n : {150u, 514u, 1200u}) {
      const auto recipe = resolve_recipe(preset.name);
      const auto need = estimate(model.config(), 0, *recipe, {.n_tokens = n, .budget_bytes = 1});
      ASSERT_TRUE(need.ok());
      const std::size_t budget = need->arena_bytes;
      const auto fit =
          estimate(model.config(), 0, *recipe,
                   {.n_tokens = 1, .budget_bytes = budget, .asks = {.tokens_that_fit = true}});
      ASSERT_TRUE(fit.ok());
      ASSERT_GE(fit->n_tokens_fit, n);
      const auto cache = model.cache_in(preset.name, budget);
      const auto read = read_all(model, *cache, fit->n_tokens_fit);
      EXPECT_TRUE(read.ok()) << preset.name << " " << fit->n_tokens_fit << " "
                             << read.error().message;
      EXPECT_LE(cache->stats().arena_peak_bytes, budget);
    }
}

TEST(Estimator, the_tokens_that_fit_fit_and_one_more_does_not) {
  const TestModel model = tiny_model({}, "reference");
  const auto recipe = resolve_recipe("compact");
  ASSERT_TRUE(recipe.ok());
  const auto at = [&](std::size_t n_tokens, std::size_t budget_bytes) {
    return std::move(estimate(model.config(), 0, *recipe,
                              {.n_tokens = n_tokens,
                               .budget_bytes = budget_bytes,
                               .asks = {.tokens_that_fit = true}}))
        .value();
  };
  const std::size_t budget_bytes = at(1500, kPlenty).arena_bytes;
  const std::size_t n_fit = at(1, budget_bytes).n_tokens_fit;
  EXPECT_GT(at(1, budget_bytes).n_tokens_most, n_fit) << "text can come down the ladder";
  EXPECT_GE(n_fit, 1500u);
  EXPECT_LE(at(n_fit, kPlenty).arena_bytes, budget_bytes);
  EXPECT_GT(at(n_fit + 1, kPlenty).arena_bytes, budget_bytes);
  EXPECT_EQ(at(1, kPlenty).n_tokens_fit, model.config().context);
  EXPECT_EQ(at(1, 1).n_tokens_fit, 0u);
}

TEST(Estimator, finds_what_costs_more_than_the_bounds_only_where_it_is_asked_for) {
  const TestModel model = tiny_model({}, "reference");
  const auto recipe = resolve_recipe("compact");
  ASSERT_TRUE(recipe.ok());
  const auto asked = [&](EstimateAsks asks) {
    return std::move(estimate(model.config(), 0, *recipe,
                              {.n_tokens = 900, .budget_bytes = kPlenty, .asks = asks}))
        .value();
  };
  const Estimate bounds = asked({}), expected = asked({.expected_bytes = true}),
                 fit = asked({.tokens_that_fit = true});
  EXPECT_EQ(bounds.n_tokens_fit + bounds.n_tokens_most + bounds.expected_bytes, 0u);
  EXPECT_TRUE(bounds.fits);
  EXPECT_GT(expected.expected_bytes, 0u);
  EXPECT_EQ(expected.n_tokens_fit + expected.n_tokens_most, 0u);
  EXPECT_GT(fit.n_tokens_fit, 0u);
  EXPECT_EQ(fit.expected_bytes, 0u);
  for (const Estimate& other : {expected, fit}) {
    EXPECT_EQ(other.arena_bytes, bounds.arena_bytes);
    EXPECT_EQ(other.cache_bytes, bounds.cache_bytes);
  }
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
}

TEST(Estimator, no_budget_means_the_default_and_no_length_the_context) {
  const TestModel model = tiny_model({}, "reference");
  const auto recipe = resolve_recipe("full");
  const auto out = estimate(model.config(), 0, *recipe, {.asks = {.tokens_that_fit = true}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->n_tokens_fit, model.config().context);
  EXPECT_EQ(out->arena_bytes, *default_budget(model.config(), kernels::available_main_memory()));
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
