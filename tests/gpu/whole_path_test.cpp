// Whole models on the cuda backend beside the cpu backend: what they say, what recipes keep of what
// they read, and chats that are saved and taken up again, on the same device and on the other. Only
// where there is a card; SATCHEL_TEST_ROW=cpu tries the tests themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kvcache/snapshot/snapshot.h"
#include "runtime/contract/cache_key.h"
#include "runtime/limits/presets.h"
#include "support/open_named.h"
#include "support/record_stores.h"
#include "support/usable_recipes.h"
#include "support/value_of.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using Ids = std::span<const std::int32_t>;

const char* card() {
  const char* other = std::getenv("SATCHEL_TEST_ROW");
  return other == nullptr ? "cuda" : other;
}

// Largest difference over the largest value.
double apart(const std::vector<float>& got, const std::vector<float>& want) {
  double size = 0;
  for (const float x : want) size = std::max(size, std::abs(double{x}));
  return largest_difference(got, want) / size;
}

// Rounding to fp16 (prompts, and what is attended to) through all layers of random weights; a wrong
// token, page or head is ten times as far off.
constexpr double kLogits = 4e-2;

class WholePath : public testing::Test {
 protected:
  void SetUp() override {
    const auto opened = test::open_named(card());
    if (!opened.ok()) GTEST_SKIP() << "cuda: " << opened.error().message;
  }
};

TEST_F(WholePath, models_of_every_head_dim_say_what_they_say_on_the_cpu) {
  for (const std::size_t head_dim : {64u, 80u, 96u, 128u})
    for (const auto type : {kernels::WeightType::q4_0, kernels::WeightType::q4_k,
                            kernels::WeightType::q8_0, kernels::WeightType::f16}) {
      const TinyShape shape{.type = type,
                            .n_heads = 6,
                            .n_kv_heads = 2,
                            .head_dim = head_dim,
                            .width = 256,
                            .ffn_width = 512};
      if (6 * head_dim % kernels::weight_type_traits(type).block_values != 0) continue;
      SCOPED_TRACE(testing::Message()
                   << kernels::weight_type_traits(type).name << ", head_dim " << head_dim);
      TestModel here = tiny_model(shape, card()), there = tiny_model(shape, "cpu");
      const auto ids = random_ids(300, shape.n_vocabulary, head_dim);
      const auto cache = here.cache("full", 400), other = there.cache("full", 400);
      EXPECT_LE(apart(here.read(*cache, ids), there.read(*other, ids)), kLogits);
      for (std::int32_t i = 0; i < 40; ++i)  // over the end of a page
        ASSERT_LE(apart(here.decode(*cache, i), there.decode(*other, i)), kLogits) << i;
    }
}

// Small enough for the executor of tests/simt, which plays it where there is no card.
TEST_F(WholePath, a_small_model_reads_packs_and_answers_as_on_the_cpu) {
  TestModel here = tiny_model({}, card()), there = tiny_model({}, "cpu");
  const auto ids = random_ids(140, here.config().n_vocabulary, 7);
  const auto cache = here.cache("kivi-4", 200), other = there.cache("kivi-4", 200);
  EXPECT_LE(apart(here.read(*cache, ids), there.read(*other, ids)), kLogits);
  for (std::int32_t i = 0; i < 6; ++i)
    ASSERT_LE(apart(here.decode(*cache, i), there.decode(*other, i)), kLogits) << i;
}

TEST_F(WholePath, the_bundled_model_chooses_the_tokens_it_chooses_on_the_cpu) {
  TestModel here = open_model(std::move(GgufFile::open(bundled_model())).value(), card());
  TestModel there = open_model(std::move(GgufFile::open(bundled_model())).value(), "cpu");
  const auto ids = random_ids(600, here.config().n_vocabulary, 4);
  for (const char* recipe : {"full", "kivi-4", "kivi-2"}) {
    const auto cache = here.cache(recipe, 1000), other = there.cache(recipe, 1000);
    std::vector<float> got = here.read(*cache, ids), want = there.read(*other, ids);
    for (std::size_t step = 0; step < 160; ++step) {  // what the cpu says goes into both
      ASSERT_LE(apart(got, want), kLogits) << recipe << ", " << step;
      std::vector<float> sorted = want;
      std::ranges::nth_element(sorted, sorted.begin() + 1, std::greater<>());
      const double margin = double{*std::ranges::max_element(want)} - double{sorted[1]};
      if (margin > 0.5) {
        EXPECT_EQ(top_of(got), top_of(want)) << recipe << ", " << step;
      }
      const auto next = static_cast<std::int32_t>(top_of(want));
      got = here.decode(*cache, next);
      want = there.decode(*other, next);
    }
  }
}

// Fails where a recipe needs what was learnt of a model.
Result<std::unique_ptr<kvcache::Cache>> open(TestModel& model, const std::string& name) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, resolve_recipe(name));
  SATCHEL_TRY_ASSIGN(auto arena, kvcache::Arena::open(model.backend, std::size_t{32} << 20));
  return kvcache::Cache::open(std::move(arena), model.config().cache_shape(), recipe);
}

TEST_F(WholePath, recipes_keep_as_much_as_on_the_cpu) {
  TestModel here = tiny_model({}, card()), there = tiny_model({}, "cpu");
  const auto ids = random_ids(700, 288, 9);
  std::size_t n_read = 0;
  for (const std::string& name : test::usable_recipes()) {
    SCOPED_TRACE(name);
    const auto cache = open(here, name), other = open(there, name);
    EXPECT_EQ(cache.ok(), other.ok());
    if (!cache.ok() || !other.ok()) continue;
    std::vector<float> logits(288);
    const auto read = here.model->read_prompt(
        {.cache = **cache, .ids = ids, .stop = {}, .progress = {}, .logits = logits});
    if (!read.ok() && read.error().kind == ErrorKind::unsupported) {
      std::cout << "[  MISSING ] " << name << ": " << read.error().message << "\n";
      continue;
    }
    ASSERT_TRUE(read.ok()) << read.error().message;
    const std::vector<float> want = there.read(**other, ids);
    EXPECT_TRUE(std::ranges::all_of(logits, [](float x) { return std::isfinite(x); }));
    EXPECT_EQ((*cache)->stats().n_kept, (*other)->stats().n_kept);
    EXPECT_EQ((*cache)->stats().bytes, (*other)->stats().bytes);
    EXPECT_LE(apart(logits, want), kLogits);  // the prompt saw itself exact
    ASSERT_TRUE(here.model->decode_step(**cache, 7, logits).ok());
    ++n_read;
  }
  RecordProperty("recipes", std::to_string(n_read));
  EXPECT_GT(n_read, 20u);
}

TEST_F(WholePath, a_saved_chat_goes_on_with_the_same_bits_here_and_closely_there) {
  const auto key = runtime::cache_key({1});
  for (const char* recipe : {"full", "kivi-4", "kivi-2"}) {
    SCOPED_TRACE(recipe);
    TestModel here = tiny_model({}, card()), there = tiny_model({}, "cpu");
    const auto ids = random_ids(500, 288, 5);
    const auto cache = here.cache(recipe, 700), again = here.cache(recipe, 700),
               other = there.cache(recipe, 700);
    here.read(*cache, ids);
    test::MemoryRecordStore store;
    const kvcache::SnapshotIdentity identity{
        .model = "tiny", .recipe = cache->recipe().hash(), .tokens = ids};
    kvcache::Snapshot saved(*cache, store, key);
    value_of(saved.save(identity));
    for (kvcache::Cache* into : {again.get(), other.get()}) {
      kvcache::Snapshot snapshot(*into, store, key);
      EXPECT_EQ(value_of(snapshot.restore(identity)).reason, kvcache::RereadReason::none);
    }
    for (std::int32_t i = 0; i < 10; ++i) {
      const std::vector<float> want = here.decode(*cache, i);
      ASSERT_EQ(here.decode(*again, i), want) << i;
      ASSERT_LE(apart(there.decode(*other, i), want), kLogits) << i;
    }
  }
}

TEST_F(WholePath, the_same_text_twice_gives_the_same_bits) {
  TestModel model = tiny_model({}, card());
  const auto ids = random_ids(700, 288, 11);
  const auto first = model.cache("kivi-4", 1000), second = model.cache("kivi-4", 1000);
  EXPECT_EQ(model.read(*first, ids), model.read(*second, ids));
  for (std::size_t i = 0; i < 200; ++i)
    ASSERT_EQ(model.decode(*first, ids[i]), model.decode(*second, ids[i])) << i;
}

}  // namespace
}  // namespace satchel::runtime
