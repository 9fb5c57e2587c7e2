// Layers that see a window, that read the lanes of others, that make values of what keys are made
// of, that carry a state: a chat that was saved, edited or branched goes on as one that was read
// anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kvcache/snapshot/snapshot.h"
#include "runtime/limits/presets.h"
#include "support/record_stores.h"
#include "support/source_dir.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using IdSpan = std::span<const std::int32_t>;
constexpr std::size_t kVocabulary = 160, kText = 300, kGreedy = 40;
constexpr const char* kKinds[] = {"gemma3", "gpt_oss", "gemma4_e",  "gemma4_moe",
                                  "lfm2",   "qwen35",  "qwen35moe", "granitehybrid"};

TestModel open_kind(const std::string& name, const char* backend, std::size_t chunk = 0) {
  auto file = GgufFile::open(test::source_dir() + "/tests/golden/model/arch_" + name + ".gguf");
  EXPECT_TRUE(file.ok()) << file.error().message;
  return open_model(std::move(file).value(), backend, chunk);
}

// What the model says behind these logits.
std::vector<std::int32_t> go_on(TestModel& model, kvcache::Cache& cache,
                                std::vector<float> logits) {
  std::vector<std::int32_t> said;
  while (said.size() < kGreedy) {
    said.push_back(static_cast<std::int32_t>(top_of(logits)));
    logits = model.decode(cache, said.back());
  }
  return said;
}

std::vector<std::int32_t> read_anew(const std::string& name, const char* backend, IdSpan ids) {
  TestModel model = open_kind(name, backend);
  const auto cache = model.cache("full", 2 * kText);
  const std::vector<float> logits = model.read(*cache, ids);
  return go_on(model, *cache, logits);
}

class EveryLayerKind : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  const char* backend() const { return std::get<1>(GetParam()); }
  std::vector<std::int32_t> ids_ = random_ids(kText, kVocabulary, 17);
};

TEST_P(EveryLayerKind, a_saved_chat_goes_on_in_another_process_with_the_same_tokens) {
  for (const char* recipe : {"full", "balanced", "compact", "satchel-refit"}) {
    if (backend() == std::string("reference") && recipe != std::string("balanced")) continue;
    test::MemoryRecordStore store;
    const kvcache::CacheKey key = kvcache::CacheKey::named("chat");
    const std::string hash = resolve_recipe(recipe).value().hash();
    std::vector<std::int32_t> before;
    {
      TestModel model = open_kind(name(), backend());
      const auto cache = model.cache(recipe, 2 * kText);
      model.read(*cache, ids_);
      ASSERT_TRUE(kvcache::Snapshot(*cache, store, key)
                      .save({.model = "m", .recipe = hash, .tokens = ids_})
                      .ok());
      before = go_on(model, *cache, model.decode(*cache, 3));
    }
    TestModel model = open_kind(name(), backend());
    const auto cache = model.cache(recipe, 2 * kText);
    const auto report = kvcache::Snapshot(*cache, store, key)
                            .restore({.model = "m", .recipe = hash, .tokens = ids_});
    ASSERT_TRUE(report.ok()) << report.error().message;
    ASSERT_EQ(report->n_tokens, kText) << report->detail;
    EXPECT_EQ(go_on(model, *cache, model.decode(*cache, 3)), before) << recipe;
  }
}

// Where a window has passed what is cut, the text is read from its beginning, and where layers
// carry a state, from a checkpoint, as sessions do.
TEST_P(EveryLayerKind, a_chat_edited_in_the_middle_says_what_it_says_when_read_anew) {
  for (const std::size_t kept : {285u, 200u, 40u}) {
    std::vector<std::int32_t> edited(ids_.begin(), ids_.begin() + std::ptrdiff_t(kept));
    const std::vector<std::int32_t> other = random_ids(30, kVocabulary, kept);
    edited.insert(edited.end(), other.begin(), other.end());
    TestModel model = open_kind(name(), backend());
    const auto cache = model.cache("full", 2 * kText);
    model.read(*cache, ids_);
    const std::size_t point = cache->edit().truncation_point(kept);
    ASSERT_TRUE(cache->edit().truncate(point).ok());
    const std::vector<float> logits = model.read(*cache, IdSpan(edited).subspan(point));
    EXPECT_EQ(go_on(model, *cache, logits), read_anew(name(), backend(), edited)) << kept;
    EXPECT_TRUE(point == kept || kept < 285u || cache->states().any())
        << "what all windows still see";
  }
}

TEST_P(EveryLayerKind, a_branch_and_its_origin_say_what_they_say_when_read_anew) {
  const IdSpan ids = ids_;
  TestModel model = open_kind(name(), backend());
  const auto cache = model.cache("full", 4 * kText);
  model.read(*cache, ids.first(250));
  auto forked = cache->fork();
  ASSERT_TRUE(forked.ok()) << forked.error().message;
  std::vector<std::int32_t> other(ids.begin(), ids.begin() + 250);
  const std::vector<std::int32_t> more = random_ids(60, kVocabulary, 5);
  other.insert(other.end(), more.begin(), more.end());
  const std::vector<float> logits = model.read(**forked, more);
  EXPECT_EQ(go_on(model, **forked, logits), read_anew(name(), backend(), other));
  const std::vector<float> of_origin = model.read(*cache, ids.subspan(250));
  EXPECT_EQ(go_on(model, *cache, of_origin), read_anew(name(), backend(), ids));
}

// Reading is exact whatever the recipe keeps afterwards, also for layers that read others' lanes.
TEST_P(EveryLayerKind, a_text_read_at_once_gives_the_same_logits_with_every_recipe) {
  TestModel model = open_kind(name(), backend(), 64);
  const std::vector<float> exact = model.read(*model.cache("full", kText), ids_);
  for (const char* recipe : {"balanced", "extreme", "h2o", "d2o", "kivi-2", "satchel-refit"})
    EXPECT_LE(largest_difference(model.read(*model.cache(recipe, kText), ids_), exact), 1e-5)
        << recipe;
}

TEST_P(EveryLayerKind, a_replay_over_an_exact_cache_says_what_reading_said) {
  TestModel model = open_kind(name(), backend());
  const auto cache = model.cache("full", kText);
  const std::vector<float> read = model.read(*cache, ids_);
  std::vector<float> again(kVocabulary);
  const std::size_t first = kText - 100;
  ASSERT_TRUE(model.model
                  ->replay({.cache = *cache,
                            .ids = IdSpan(ids_).subspan(first),
                            .first = first,
                            .before = IdSpan(ids_).first(first),
                            .stop = {},
                            .logits = again})
                  .ok());
  EXPECT_LE(largest_difference(again, read), 0.004);
}

INSTANTIATE_TEST_SUITE_P(Tiny, EveryLayerKind,
                         testing::Combine(testing::ValuesIn(kKinds),
                                          testing::Values("reference", "cpu")),
                         [](const auto& row) {
                           return std::string(std::get<0>(row.param)) + "_" +
                                  std::get<1>(row.param);
                         });

TEST(SharedLayers, have_no_lanes_and_take_no_bytes) {
  const TestModel model = open_kind("gemma4_e", "reference");
  const ModelConfig& config = model.config();
  ASSERT_EQ(config.n_layers(), 6u);
  EXPECT_EQ(config.n_reading_layers(), 3u);
  std::vector<std::size_t> of_cache;
  for (std::size_t i = 0; i < 6; ++i) of_cache.push_back(config.cache_layer(i));
  EXPECT_THAT(of_cache, ElementsAre(0, 1, 2, 1, 1, 2)) << "the last of the same kind";
  const kvcache::CacheShape shape = config.cache_shape();
  ASSERT_EQ(shape.n_layers(), 3u);
  EXPECT_EQ(shape.n_lanes(), 3u);
  EXPECT_FALSE(shape.layers[0].is_shared);
  EXPECT_TRUE(shape.layers[1].is_shared && shape.layers[2].is_shared);
  EXPECT_EQ(shape.fp16_bytes_per_token(), (16 + 16 + 32) * 2 * sizeof(Half));
}

TEST(SharedLayers, are_passed_through_only_by_tokens_that_somebody_asks_for) {
  const std::vector<std::int32_t> ids = random_ids(256, kVocabulary, 3);
  TestModel model = open_kind("gemma4_e", "cpu", 64);
  std::vector<std::size_t> seen(6);
  struct Count final : PrefillWatch {
    explicit Count(std::vector<std::size_t>& to) : n(to) {}
    Result<void> see(const LayerStep& step) override {
      n[step.layer] += step.batch.n_tokens;
      return {};
    }
    std::vector<std::size_t>& n;
  } count(seen);
  const auto cache = model.cache("full", 256);
  const ProgressFn silent;
  ASSERT_TRUE(
      model.model
          ->read_prompt(
              {.cache = *cache, .ids = ids, .stop = {}, .progress = silent, .watch = &count})
          .ok());
  EXPECT_THAT(seen, ElementsAre(256, 256, 256, 0, 0, 0)) << "they have no keys to show";
}

}  // namespace
}  // namespace satchel::runtime
