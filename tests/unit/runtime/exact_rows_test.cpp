// ExactRows: what is retained of a first reading, and for how long.
#include "runtime/replay/exact_rows.h"

#include <gtest/gtest.h>

#include <utility>

#include "support/value_of.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

class ExactRowsOf : public testing::Test {
 protected:
  static constexpr std::size_t kTokens = 200;

  void SetUp() override {
    ids_ = random_ids(kTokens, model_.config().n_vocabulary, 4);
    cache_ = model_.cache("full", 2 * kTokens);
    lease_ = value_of(cache_->arena().take_scratch(kept_bytes(model_.config(), kTokens)));
    const MeasuredRows kept = measured_rows(model_.config(), kTokens, lease_.data());
    value_of(model_.model->read_prompt({.cache = *cache_,
                                        .ids = ids_,
                                        .stop = {},
                                        .progress = {},
                                        .last_rows = kept.rows,
                                        .samples = kept.samples}));
  }

  TestModel model_ = tiny_model({}, "cpu");
  std::vector<std::int32_t> ids_;
  std::unique_ptr<kvcache::Cache> cache_;
  kvcache::Arena::Lease lease_;
};

TEST_F(ExactRowsOf, a_text_take_memory_of_the_arena_until_they_are_dropped) {
  const std::size_t used = cache_->arena().used_bytes();
  ExactRows rows(*model_.model);
  EXPECT_EQ(rows.bytes(), 0u);
  ASSERT_TRUE(rows.keep(*cache_, kTokens, lease_.data()).ok());
  EXPECT_EQ(rows.n(), kFidelityTokens);
  EXPECT_EQ(rows.end(), kTokens);
  EXPECT_EQ(cache_->arena().used_bytes(), used + rows.bytes());
  rows.drop();
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(cache_->arena().used_bytes(), used);
}

TEST_F(ExactRowsOf, a_text_go_with_their_owner) {
  const std::size_t used = cache_->arena().used_bytes();
  {
    ExactRows rows(*model_.model);
    ASSERT_TRUE(rows.keep(*cache_, kTokens, lease_.data()).ok());
  }
  EXPECT_EQ(cache_->arena().used_bytes(), used);
}

TEST_F(ExactRowsOf, a_text_are_not_kept_where_there_is_no_room_and_that_is_no_error) {
  kvcache::Arena& arena = cache_->arena();
  const kvcache::ExtentId others = value_of(arena.take(arena.free_bytes()));
  ExactRows rows(*model_.model);
  EXPECT_TRUE(rows.keep(*cache_, kTokens, lease_.data()).ok());
  EXPECT_TRUE(rows.empty());
  arena.give(others);
}

TEST_F(ExactRowsOf, a_text_agree_wholly_with_an_exact_cache) {
  ExactRows rows(*model_.model);
  ASSERT_TRUE(rows.keep(*cache_, kTokens, lease_.data()).ok());
  const Fidelity same = value_of(rows.compare(*cache_, ids_, {}));
  EXPECT_EQ(same.n_tokens, kFidelityTokens);
  EXPECT_EQ(same.agreement, 1);
  EXPECT_NEAR(same.attention_kept, 1, 1e-5);
}

}  // namespace
}  // namespace satchel::runtime
