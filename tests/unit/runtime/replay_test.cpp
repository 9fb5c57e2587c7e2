// Replay: rows of a chat's tokens over its cache, and what the model says after them.
#include "runtime/replay/replay.h"

#include <gtest/gtest.h>

#include "runtime/limits/presets.h"
#include "runtime/model/scratch.h"
#include "support/open_named.h"
#include "support/staged_backend.h"
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

// A cache that any lease moves, on a backend that copies what its lane tables were given,
// as a card does: what is free lies below the cache.
class ReplayOfMovedLanes : public testing::Test {
 protected:
  static constexpr std::size_t kTokens = 40, kRows = 12;

  ReplayOfMovedLanes() : ids_(random_ids(kTokens, model_.config().n_vocabulary, 5)) {
    // Less than the lanes take, so that what one showed lies where another is now.
    const std::size_t below =
        2 * PassScratch::bytes(model_.config(), prefill_size(model_.config(), 0, kRows));
    const kvcache::ExtentId hole = value_of(arena_->take(below));
    cache_ = value_of(kvcache::Cache::open(arena_, model_.config().cache_shape(),
                                           value_of(resolve_recipe("full"))));
    kept_ = value_of(arena_->take_scratch(kept_bytes(model_.config(), kTokens)));
    exact_ = measured_rows(model_.config(), kTokens, kept_.data());
    last_.resize(model_.config().n_vocabulary);
    EXPECT_TRUE(model_.model
                    ->read_prompt({.cache = *cache_,
                                   .ids = ids_,
                                   .stop = {},
                                   .progress = {},
                                   .last_rows = exact_.rows,
                                   .samples = exact_.samples,
                                   .logits = last_})
                    .ok());
    { const auto all = value_of(arena_->take_scratch(arena_->free_bytes())); }  // no hole is left
    EXPECT_TRUE(cache_->refresh_lanes().ok());
    arena_->give(hole);
    above_ =
        value_of(arena_->take_scratch(arena_->free_bytes() - kvcache::Arena::rounded_up(below)));
  }

  TestModel model_ =
      tiny_model_on(test::make_staged(value_of(test::open_named(test::in_place_of("cpu")))), {});
  std::vector<std::int32_t> ids_;
  std::shared_ptr<kvcache::Arena> arena_ =
      value_of(kvcache::Arena::open(model_.backend, std::size_t{32} << 20));
  std::unique_ptr<kvcache::Cache> cache_;
  kvcache::Arena::Lease kept_, above_;
  MeasuredRows exact_;
  std::vector<float> last_;  // logits after the last token
};

TEST_F(ReplayOfMovedLanes, says_what_the_first_reading_said) {
  const kvcache::Arena::Lease rows =
      value_of(replay_rows(*model_.model, {.cache = *cache_,
                                           .ids = std::span<const std::int32_t>(ids_).last(kRows),
                                           .first = kTokens - kRows,
                                           .stop = {}}));
  std::vector<float> last;
  const auto see = [&last](std::size_t, std::span<const float> logits) {
    last.assign(logits.begin(), logits.end());
  };
  ASSERT_TRUE(
      each_logits(*model_.model, *arena_, reinterpret_cast<const float*>(rows.data()), kRows, see)
          .ok());
  EXPECT_LE(largest_difference(last, last_), 1e-3);
}

TEST_F(ReplayOfMovedLanes, attention_finds_all_that_it_saw) {
  const double kept =
      value_of(attention_kept(*model_.model, {.cache = *cache_,
                                              .end = kTokens,
                                              .n_tokens = kTokens,
                                              .exact = [&] { return exact_.samples; },
                                              .stop = {}}));
  EXPECT_NEAR(kept, 1, 1e-3);
}

}  // namespace
}  // namespace satchel::runtime
