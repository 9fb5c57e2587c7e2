// What a text's queries attend to: a model of equal keys, where it can be said by hand, and the
// ways in which it is asked.
#include "runtime/replay/attention_paid.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/value_of.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

class AttentionPaidTest : public testing::Test {
 protected:
  static constexpr std::size_t kTokens = 700;

  explicit AttentionPaidTest(bool keys_are_zero = true)
      : model_(tiny_model({.keys_are_zero = keys_are_zero}, "cpu")),
        cache_(model_.cache("full", 2 * kTokens)),
        ids_(random_ids(kTokens, model_.config().n_vocabulary, 3)) {
    model_.read(*cache_, ids_);
  }
  AttentionPaid paid(const IndexRange& text) {
    return value_of(attention_paid(*model_.model, *cache_, ids_, text, {}));
  }
  static double sum(const AttentionPaid& paid) {
    return std::accumulate(paid.shares.begin(), paid.shares.end(), 0.0);
  }
  // Each of these queries gives all that it sees the same.
  void expect_even(const AttentionPaid& paid, const std::vector<std::size_t>& queries) {
    ASSERT_EQ(paid.n_queries, queries.size());
    ASSERT_EQ(paid.shares.size(), kTokens);
    for (std::size_t t = 0; t < kTokens; ++t) {
      double expected = 0;
      for (const std::size_t query : queries)
        if (query >= t) expected += 1.0 / double(query + 1) / double(queries.size());
      ASSERT_NEAR(paid.shares[t], expected, 1e-6) << t;
    }
  }

  TestModel model_;
  std::unique_ptr<kvcache::Cache> cache_;
  std::vector<std::int32_t> ids_;
};

TEST_F(AttentionPaidTest, equal_keys_get_equal_shares_of_each_query_that_sees_them) {
  expect_even(paid({600, 604}), {600, 601, 602, 603});
  std::vector<std::size_t> queries;
  for (std::size_t i = 1; i <= 16; ++i) queries.push_back(600 + i * 100 / 16 - 1);
  expect_even(paid({600, 700}), queries);
}

TEST_F(AttentionPaidTest, a_long_text_is_looked_at_from_its_beginning_to_its_end) {
  std::vector<std::size_t> queries;
  for (const std::size_t end : {250u, 400u, 550u, 700u})
    for (std::size_t i = 4; i-- > 0;) queries.push_back(end - 1 - 8 * i);
  expect_even(paid({100, 700}), queries);
}

TEST_F(AttentionPaidTest, what_was_forgotten_gets_nothing_and_the_rest_is_shared_anew) {
  ASSERT_TRUE(cache_->edit().forget(100, 200).ok());
  const AttentionPaid after = paid({690, 700});
  for (std::size_t t = 100; t < 300; ++t) ASSERT_EQ(after.shares[t], 0) << t;
  double expected = 0;
  for (std::size_t query = 690; query < 700; ++query) expected += 0.1 / double(query + 1 - 200);
  EXPECT_NEAR(after.shares[50], expected, 1e-6);
  EXPECT_NEAR(sum(after), 1, 1e-5);
}

TEST_F(AttentionPaidTest, of_a_text_that_the_cache_has_not_seen_there_is_none) {
  const AttentionPaid none = value_of(
      attention_paid(*model_.model, *cache_, std::vector<std::int32_t>(900, 7), {700, 900}, {}));
  EXPECT_EQ(none.n_queries, 0u);
  EXPECT_EQ(sum(none), 0);
}

TEST_F(AttentionPaidTest, nothing_is_appended_and_no_memory_is_held_afterwards) {
  const std::size_t used = cache_->arena().used_bytes();
  (void)paid({0, kTokens});
  EXPECT_EQ(cache_->n_tokens(), kTokens);
  EXPECT_EQ(cache_->arena().used_bytes(), used);
}

TEST_F(AttentionPaidTest, a_stop_and_too_little_memory_are_errors_that_change_nothing) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = attention_paid(*model_.model, *cache_, ids_, {600, 700}, stop.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, "STOPPED");
  const std::size_t free = cache_->arena().free_bytes();
  const auto hole = value_of(cache_->arena().take(free));
  const auto full = attention_paid(*model_.model, *cache_, ids_, {600, 700}, {});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().kind, ErrorKind::out_of_memory);
  cache_->arena().give(hole);
  EXPECT_EQ(paid({600, 620}).n_queries, 16u);
}

class AttentionPaidOfKeys : public AttentionPaidTest {
 protected:
  AttentionPaidOfKeys() : AttentionPaidTest(false) {}
};

TEST_F(AttentionPaidOfKeys, all_of_the_attention_is_on_what_stands_before_the_last_query) {
  const AttentionPaid some = paid({300, 400});
  EXPECT_NEAR(sum(some), 1, 1e-4);
  for (std::size_t t = 400; t < kTokens; ++t) ASSERT_EQ(some.shares[t], 0) << t;
}

}  // namespace
}  // namespace satchel::runtime
