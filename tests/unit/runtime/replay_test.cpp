// Replay: rows of a chat's tokens over its cache, and what the model says after them.
#include "runtime/replay/replay.h"

#include <gtest/gtest.h>

#include "support/value_of.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

class Replay : public testing::Test {
 protected:
  static constexpr std::size_t kTokens = 40, kRows = 12;

  Replay() : ids_(random_ids(kTokens, model_.config().n_vocabulary, 5)) {
    cache_ = model_.cache("full", kTokens);
    last_ = model_.read(*cache_, ids_);
  }
  kvcache::Arena::Lease rows() {
    return value_of(
        replay_rows(*model_.model, {.cache = *cache_,
                                    .ids = std::span<const std::int32_t>(ids_).last(kRows),
                                    .first = kTokens - kRows,
                                    .stop = {}}));
  }
  static const float* floats(const kvcache::Arena::Lease& lease) {
    return reinterpret_cast<const float*>(lease.data());
  }

  TestModel model_ = tiny_model({}, "cpu");
  std::vector<std::int32_t> ids_;
  std::unique_ptr<kvcache::Cache> cache_;
  std::vector<float> last_;  // logits after the last token
};

TEST_F(Replay, the_last_row_says_what_the_first_reading_said) {
  const kvcache::Arena::Lease lease = rows();
  std::vector<std::size_t> seen;
  std::vector<float> last;
  const auto see = [&](std::size_t row, std::span<const float> logits) {
    seen.push_back(row);
    last.assign(logits.begin(), logits.end());
  };
  ASSERT_TRUE(each_logits(*model_.model, cache_->arena(), floats(lease), kRows, see).ok());
  ASSERT_EQ(seen.size(), kRows);
  EXPECT_EQ(seen.back(), kRows - 1) << "in order";
  EXPECT_LE(largest_difference(last, last_), 1e-3);
}

TEST_F(Replay, the_top_token_of_the_last_row_is_the_likeliest) {
  const kvcache::Arena::Lease lease = rows();
  const auto top = value_of(top_tokens(*model_.model, cache_->arena(), floats(lease), kRows));
  ASSERT_EQ(top.size(), kRows);
  EXPECT_EQ(static_cast<std::size_t>(top.back()), top_of(last_));
}

TEST_F(Replay, rows_agree_wholly_with_themselves) {
  const kvcache::Arena::Lease lease = rows();
  const Fidelity same = value_of(compare_rows(
      *model_.model, cache_->arena(),
      {.exact = [&] { return floats(lease); }, .compressed = floats(lease), .n_tokens = kRows}));
  EXPECT_EQ(same.n_tokens, kRows);
  EXPECT_EQ(same.agreement, 1);
  EXPECT_EQ(same.kl, 0);
}

TEST_F(Replay, nothing_is_appended_and_no_memory_is_held_afterwards) {
  const std::size_t used = cache_->arena().used_bytes();
  { const kvcache::Arena::Lease lease = rows(); }
  EXPECT_EQ(cache_->n_tokens(), kTokens);
  EXPECT_EQ(cache_->arena().used_bytes(), used);
}

}  // namespace
}  // namespace satchel::runtime
