// A decode step allocates nothing: not on any thread, not when a page is packed.
#include <gtest/gtest.h>

#include "support/count_allocations.h"
#include "support/source_dir.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

void expect_no_allocation(TestModel& model, std::string_view recipe) {
  const std::size_t n_vocabulary = model.config().n_vocabulary;
  const auto cache = model.cache(recipe, 800);
  const auto ids = random_ids(400, n_vocabulary, 2);
  model.read(*cache, ids);
  std::vector<float> logits(n_vocabulary);
  ASSERT_TRUE(model.model->decode_step(*cache, 1, logits).ok());  // threads wake up
  const std::size_t before = test::allocations_so_far();
  bool ok = true;
  for (std::size_t i = 0; i < 300; ++i) ok &= model.model->decode_step(*cache, ids[i], logits).ok();
  EXPECT_EQ(test::allocations_so_far() - before, 0u) << recipe;
  EXPECT_TRUE(ok);
  EXPECT_GE(cache->n_tokens(), 701u);  // two pages for each lane
}

TEST(DecodeStep, allocates_nothing_for_300_tokens) {
  for (const std::string_view recipe : {"full", "compact"}) {
    TestModel model = tiny_model({.n_vocabulary = 64}, "cpu");
    expect_no_allocation(model, recipe);
  }
}

TEST(DecodeStep, over_latent_lanes_allocates_nothing_for_300_tokens) {
  for (const std::string_view recipe : {"full", "compact"}) {
    auto file = GgufFile::open(test::source_dir() + "/tests/golden/model/arch_deepseek2_q.gguf");
    ASSERT_TRUE(file.ok()) << file.error().message;
    TestModel model = open_model(std::move(file).value(), "cpu");
    expect_no_allocation(model, recipe);
  }
}

}  // namespace
}  // namespace satchel::runtime
