// Estimate::expected_bytes against CacheStats::bytes of a text that was read and packed: within 1 %
// for every preset, with the tables that ship, in one span and in several.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/engine.h"
#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"
#include "runtime/model/scratch.h"
#include "runtime/prefill/prefill_text.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 30;

struct Held {
  std::size_t bytes = 0, n_spans = 0;
};

// As a session reads under a limit, and packs.
Held read_and_pack(Engine& engine, const kvcache::Recipe& recipe, std::size_t n_tokens,
                   std::size_t budget_bytes) {
  const ModelConfig& config = engine.config();
  const auto arena = kvcache::Arena::open(engine.state().backend, budget_bytes).value();
  const auto cache = kvcache::Cache::open(arena, config.cache_shape(), recipe).value();
  const auto ids = random_ids(n_tokens, config.n_vocabulary, 5);
  const RepeatScript script{.first = {1, 2, 3, 4}, .later = {1, 2, 3, 4}, .then = {5, 6}};
  const ProgressFn silent;
  const TextPass pass{
      .cache = *cache, .text = ids, .script = script, .stop = {}, .progress = silent};
  const auto kept = arena->take_scratch(kept_bytes(config, n_tokens)).value();
  const auto read =
      prefill_text(engine.model(), pass, {.end = n_tokens, .kept = kept.data(), .logits = {}});
  EXPECT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(pack_all(engine.model(), pass).ok());
  return {.bytes = cache->stats().bytes, .n_spans = read.ok() ? read->n_spans : 0};
}

// budget_bytes 0: what the estimate asks for.
std::size_t expect_within_one_percent(Engine& engine, std::string_view preset, std::size_t n_tokens,
                                      std::size_t budget_bytes) {
  const kvcache::Recipe recipe = resolve_recipe(preset).value();
  const auto estimated = [&](std::size_t budget) {
    return estimate(
               engine.config(), 0, recipe,
               {.n_tokens = n_tokens, .budget_bytes = budget, .asks = {.expected_bytes = true}})
        .value();
  };
  if (budget_bytes == 0) budget_bytes = estimated(1).arena_bytes;
  const Estimate then = estimated(budget_bytes);
  const Held held = read_and_pack(engine, recipe, n_tokens, budget_bytes);
  EXPECT_NEAR(static_cast<double>(held.bytes), static_cast<double>(then.expected_bytes),
              0.01 * static_cast<double>(then.expected_bytes))
      << preset << " " << n_tokens << " in " << held.n_spans << " spans";
  EXPECT_LE(held.bytes, then.cache_bytes) << preset << " " << n_tokens;
  return held.n_spans;
}

TEST(ExpectedBytes, are_what_a_text_takes_with_the_bundled_model) {
  const auto engine = open_engine(bundled_model());
  ASSERT_NE(engine->config().head_budgets, nullptr);
  for (const Preset& preset : presets())
    for (const std::size_t n : {300u, 1000u, 2000u})
      EXPECT_EQ(expect_within_one_percent(*engine, preset.name, n, kPlenty), 1u);
}

TEST(ExpectedBytes, are_so_where_the_limit_is_just_what_was_asked_for) {
  const auto engine = open_engine(bundled_model());
  for (const Preset& preset : presets())
    EXPECT_GT(expect_within_one_percent(*engine, preset.name, 1500, 0), 1u);
}

TEST(ExpectedBytes, are_what_a_text_takes_with_smollm2) {
  const char* home = std::getenv("HOME");
  const std::filesystem::path file = std::filesystem::path(home == nullptr ? "" : home) /
                                     ".local/share/satchel/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const auto engine = open_engine(file);
  for (const std::string_view preset : {"compact", "extreme"})
    expect_within_one_percent(*engine, preset, 1000, kPlenty);
}

// Where each span leaves pages part-filled as well, and where nothing fits.
TEST(ExpectedBytes, are_never_more_than_the_bound) {
  const auto engine = open_engine(bundled_model());
  const TestModel tiny = tiny_model({.context = 32768}, "cpu");
  const auto expect_bounded = [](const ModelConfig& config, std::string_view name, std::size_t n) {
    if (n == 0 || n > config.context) return;
    const kvcache::Recipe recipe = resolve_recipe(name).value();
    const Estimate bound = estimate(config, 0, recipe, {.n_tokens = n, .budget_bytes = 1}).value();
    const std::size_t arena = bound.arena_bytes, plenty = 64 * arena;
    for (const std::size_t budget : {std::size_t{1}, arena / 2, arena, 2 * arena, plenty}) {
      const Estimate out =
          estimate(config, 0, recipe,
                   {.n_tokens = n, .budget_bytes = budget, .asks = {.expected_bytes = true}})
              .value();
      ASSERT_LE(out.expected_bytes, out.cache_bytes)
          << name << " " << n << " tokens in " << budget << ", arena " << arena;
      EXPECT_EQ(out.arena_bytes, out.cache_bytes + out.scratch_bytes);
      if (budget == plenty) {
        ASSERT_EQ(out.cache_bytes, bound.cache_bytes) << name << " " << n << " in one span";
      }
    }
  };
  std::vector<std::string_view> names = {"minikv",      "h2o",    "kvzip",    "ada-kv",
                                         "zipcache-2t", "snapkv", "ladder-2", "xkv"};
  for (const Preset& preset : presets()) names.push_back(preset.name);
  std::vector<std::size_t> lengths = {1, 3, 4, 5, 63, 64, 1500, 3000, 5000, 8192, 20000};
  for (const std::size_t n : {128u, 512u})
    for (const std::size_t times : {1u, 2u, 3u, 4u, 7u})
      for (const std::size_t more : {0u, 1u, 2u, 4u, 5u}) lengths.push_back(n * times + more - 1);
  for (const std::string_view name : names) {
    for (const std::size_t n : lengths) {
      expect_bounded(engine->config(), name, n);
      expect_bounded(tiny.config(), name, n);
    }
    expect_bounded(engine->config(), name, engine->config().context);
    expect_bounded(tiny.config(), name, tiny.config().context);
  }
}

// Nobody knows what each lane will keep: then it is about right, and the bound holds.
TEST(ExpectedBytes, are_about_right_for_a_model_without_a_lane_table) {
  TestModel model = tiny_model({}, "cpu");
  ASSERT_EQ(model.config().head_budgets, nullptr);
  for (const std::string_view preset : {"compact", "extreme"}) {
    const auto then =
        estimate(model.config(), 0, resolve_recipe(preset).value(),
                 {.n_tokens = 1200, .budget_bytes = kPlenty, .asks = {.expected_bytes = true}});
    ASSERT_TRUE(then.ok());
    const auto cache = model.cache(preset, 1200);
    const auto ids = random_ids(1200, model.config().n_vocabulary, 5);
    model.read(*cache, ids);
    const auto held = static_cast<double>(cache->stats().bytes);
    EXPECT_LE(held, static_cast<double>(then->cache_bytes));
    EXPECT_NEAR(held, static_cast<double>(then->expected_bytes), 0.1 * held) << preset;
  }
}

}  // namespace
}  // namespace satchel::runtime
