// The normaliser of a softmax without V and without the matrix, and scores by the maximum with it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "support/backends.h"
#include "support/lanes.h"
#include "support/questions.h"
#include "unit/kernels/lane_queries_fixture.h"

namespace satchel::kernels {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr AttentionMask kEverySees[] = {AttentionMask::causal, AttentionMask::full,
                                        AttentionMask::band};

class EveryLogSum : public test::OnEveryBackend {
 protected:
  // What stands in lse before goes in, what the backend left comes out.
  std::vector<float> sums(const LaneQueries& lane, std::vector<float> lse) {
    const LogSumExpArgs args{.lane = lane, .lse = lse.data()};
    EXPECT_TRUE(backend().logsumexp({&args, 1}).ok());
    return lse;
  }
  void expect_like_reference(const LaneQueries& lane, const std::vector<float>& before) {
    std::vector<float> want = before;
    const LogSumExpArgs args{.lane = lane, .lse = want.data()};
    ASSERT_TRUE(reference().logsumexp({&args, 1}).ok());
    const std::vector<float> got = sums(lane, before);
    // A logit of a longer head adds up more rounded products.
    const float of_logit = lane.head_dim <= 256 ? 2e-6f : 4e-6f;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (want[i] == kNothing)
        ASSERT_EQ(got[i], kNothing) << i;
      else
        ASSERT_NEAR(got[i], want[i],
                    test::limit_on(GetParam(), of_logit + 1e-6f * std::abs(want[i])))
            << i;
    }
  }
  void expect_score_like_reference(const ScoreArgs& asked, std::vector<float> want) {
    std::vector<float> got = want;
    ScoreArgs args = asked;
    args.scores = want.data();
    ASSERT_TRUE(reference().score({&args, 1}).ok());
    args.scores = got.data();
    ASSERT_TRUE(backend().score({&args, 1}).ok());
    const LaneQueries& lane = asked.lane;
    const bool is_prompt = test::is_prompt_of_card(GetParam(), lane.batch.n_tokens * lane.n_group);
    for (std::size_t j = 0; j < got.size(); ++j)
      ASSERT_NEAR(got[j], want[j],
                  (is_prompt ? test::kPromptShare : 2e-5f) * std::abs(want[j]) + 1e-5f)
          << "key " << j;
  }
};

// Two tokens, one head, logits by hand: q_0 gives 0 and ln 3, q_1 gives ln 2 and 0.
class TwoTokens {
 public:
  static constexpr std::size_t kDim = 32;
  TwoTokens() : k_(2 * kDim), q_(2 * kDim, 0.0f) {
    k_[0] = k_[kDim + 1] = float_to_half(1);
    q_[1] = std::log(3.0f);
    q_[kDim] = std::log(2.0f);
    run_ = {.k = k_.data(), .v = k_.data(), .positions = positions_, .n_tokens = 2};
  }
  TwoTokens(const TwoTokens&) = delete;
  LaneQueries over(AttentionMask mask) const {
    return {.q = q_.data(),
            .batch = {.positions = positions_, .n_tokens = 2},
            .n_heads = 1,
            .head_dim = kDim,
            .keys = {.runs = {&run_, 1}, .pages = {}},
            .mask = mask};
  }

 private:
  std::vector<Half> k_;
  std::vector<float> q_;
  std::int32_t positions_[2] = {0, 1};
  ExactRun run_;
};

// Each query meets all keys and, a second time, its own past: the columns' maxima of that softmax.
//   q_0  1 + 3 and 1:      sum 5, shares 1/5 and 3/5
//   q_1  2 + 1 and 2 + 1:  sum 6, shares 2/6 and 1/6
TEST_P(EveryLogSum, the_echo_of_two_tokens) {
  const TwoTokens two;
  const std::vector<float> past = sums(two.over(AttentionMask::causal), {kNothing, kNothing});
  EXPECT_NEAR(past[0], 0.0f, 1e-6f);
  EXPECT_NEAR(past[1], std::log(3.0f), 1e-6f);
  const std::vector<float> lse = sums(two.over(AttentionMask::full), past);
  EXPECT_NEAR(lse[0], std::log(5.0f), 1e-6f);
  EXPECT_NEAR(lse[1], std::log(6.0f), 1e-6f);
  std::vector<float> scores(2, 0.0f);
  const ScoreArgs args{.lane = two.over(AttentionMask::full),
                       .lse = lse.data(),
                       .queries = ScoreArgs::Queries::max,
                       .heads = ScoreArgs::Heads::max,
                       .scores = scores.data()};
  ASSERT_TRUE(backend().score({&args, 1}).ok());
  EXPECT_NEAR(scores[0], 2.0f / 6, 1e-6f);
  EXPECT_NEAR(scores[1], 3.0f / 5, 1e-6f);
}

// q_0 sees both keys, q_1 its own only: sums 4 and 1, and with the past 5 and 4.
TEST_P(EveryLogSum, the_band_of_two_tokens) {
  const TwoTokens two;
  const LaneQueries band = two.over(AttentionMask::band);
  const std::vector<float> alone = sums(band, {kNothing, kNothing});
  EXPECT_NEAR(alone[0], std::log(4.0f), 1e-6f);
  EXPECT_NEAR(alone[1], 0.0f, 1e-6f);
  const std::vector<float> lse = sums(band, {0.0f, std::log(3.0f)});
  EXPECT_NEAR(lse[0], std::log(5.0f), 1e-6f);
  EXPECT_NEAR(lse[1], std::log(4.0f), 1e-6f);
  std::vector<float> scores(2, 0.0f);
  const ScoreArgs args{
      .lane = band, .lse = lse.data(), .queries = ScoreArgs::Queries::max, .scores = scores.data()};
  ASSERT_TRUE(backend().score({&args, 1}).ok());
  EXPECT_NEAR(scores[0], 1.0f / 5, 1e-6f);  // by q_0; q_1 does not see what is behind it
  EXPECT_NEAR(scores[1], 3.0f / 5, 1e-6f);  // 1/4 by q_1
}

TEST_P(EveryLogSum, lanes_of_every_shape_are_the_references) {
  std::size_t n_cases = 0;
  for (const std::size_t d : {48u, 64u, 80u, 96u, 128u, 256u, 512u, 576u}) {
    if (d > backend().head_dim_max()) continue;
    for (const std::size_t n_group : {1u, 3u, 4u, 7u, 8u}) {
      for (const std::size_t n : {1u, 63u, 127u, 128u, 129u, 260u}) {
        if (!takes(n_cases++, 13)) continue;
        if (n == 260 && d > 64) continue;  // the reference takes its time
        SCOPED_TRACE(testing::Message() << d << ", group " << n_group << ", " << n);
        const test::LaneFixture lane({.head_dim = d, .n_last = n, .seed = n, .loud = 3});
        const test::Queries queries(std::min<std::size_t>(n, 130), n_group, d);
        LaneQueries asked = queries.over(lane.view());
        for (const AttentionMask mask : kEverySees) {
          asked.mask = mask;
          expect_like_reference(asked, std::vector<float>(queries.lse.size(), kNothing));
        }
      }
    }
  }
}

// Every way to ask over every kind of lane; what stands there already, where anything does, counts.
TEST_P(EveryLogSum, every_way_to_ask_over_every_kind_of_page_is_the_references) {
  const test::BackwardsCode code(128, 64);
  const OperandShape transformed{
      .form = OperandShape::Form::affine, .bits = 4, .group = 32, .transform = Transform::hadamard};
  const PageShape pages[] = {{},
                             test::affine_pages(2),
                             {.capacity = 96, .k = transformed, .v = {}},
                             {.k = code.operand(), .v = test::affine_operand(2, 16)}};
  std::size_t n_cases = 0;
  for (const PageShape& page : pages) {
    for (const std::size_t dead_every : {0u, 3u}) {
      for (const std::int32_t shift : {0, -37, 512}) {
        const test::LaneFixture lane({.head_dim = 64,
                                      .n_first = 4,
                                      .n_pages = 3,
                                      .n_last = 150,
                                      .page = page,
                                      .page_tokens = page.capacity - 7,
                                      .dead_every = dead_every,
                                      .shift = shift});
        const test::Queries queries(70, 3, 64, lane.end_position() - 220, 3);
        std::vector<float> before = queries.lse;
        for (std::size_t i = 0; i < before.size(); i += 2) before[i] = kNothing;
        for (int way = 0; way < 12; ++way) {
          if (!takes(n_cases++, 11)) continue;
          SCOPED_TRACE(testing::Message() << &page - pages << " dead " << dead_every << " shift "
                                          << shift << " way " << way);
          LaneQueries asked = queries.over(lane.view());
          asked.mask = kEverySees[way % 3];
          if (way % 2 == 1) asked.window = 90;
          if (way % 4 >= 2) asked.soft_cap = 2;
          expect_like_reference(asked, before);
        }
      }
    }
  }
}

TEST_P(EveryLogSum, the_band_is_scored_as_the_reference_scores_it) {
  std::size_t n_cases = 0;
  for (const std::size_t n : {1u, 63u, 64u, 65u, 200u}) {
    for (const std::int32_t step : {1, 2}) {
      const test::LaneFixture lane({.head_dim = 64,
                                    .n_pages = 1,
                                    .n_last = n,
                                    .page = test::affine_pages(4),
                                    .dead_every = 5});
      const test::Queries queries(n + 30, 3, 64, lane.end_position() - static_cast<int>(n) - 20,
                                  step);
      for (int way = 0; way < 5; ++way) {
        if (!takes(n_cases++, 3)) continue;
        SCOPED_TRACE(testing::Message() << n << ", step " << step << ", way " << way);
        std::vector<float> scores(test::n_slots(lane.view()), 0.001f);
        ScoreArgs args = queries.args(lane.view(), scores);
        args.lane.mask = AttentionMask::band;
        if (way >= 1) args.queries = ScoreArgs::Queries::max;
        if (way >= 2) args.heads = ScoreArgs::Heads::max;
        if (way == 3) args.lane.soft_cap = 2;
        if (way == 4) args.weights = queries.weights.data();
        expect_score_like_reference(args, scores);
      }
    }
  }
}

// The scores by the maximum of queries that all see all, in whole tiles and beyond them.
TEST_P(EveryLogSum, maxima_over_all_queries_are_the_references) {
  for (const std::size_t n : {128u, 200u}) {
    for (const std::size_t n_group : {1u, 4u}) {
      const test::LaneFixture lane({.head_dim = 64, .n_last = n});
      const test::Queries queries(n, n_group, 64);
      for (const auto heads : {ScoreArgs::Heads::mean, ScoreArgs::Heads::max}) {
        std::vector<float> scores(n, 0.0f);
        ScoreArgs args = queries.args(lane.view(), scores);
        args.lane.mask = AttentionMask::full;
        args.queries = ScoreArgs::Queries::max;
        args.heads = heads;
        expect_score_like_reference(args, scores);
      }
    }
  }
}

TEST_P(EveryLogSum, the_past_is_what_attention_says_of_it) {
  const test::LaneFixture lane({.head_dim = 64, .n_pages = 2, .n_last = 90});
  const test::Queries queries(40, 2, 64, lane.end_position() - 40);
  const LaneQueries asked = queries.over(lane.view());
  std::vector<float> out(40 * 4 * 64), lse(40 * 4);
  const auto table = test::table_of(backend(), {lane.view()});
  const Sequence sequence{.lanes = table.get(), .n_tokens = 40};
  ASSERT_TRUE(backend()
                  .attend({.q = asked.q,
                           .n_heads = 4,
                           .n_kv_heads = 1,
                           .head_dim = 64,
                           .batch = asked.batch,
                           .sequences = {&sequence, 1},
                           .scale = asked.scale,
                           .out = out.data(),
                           .lse = lse.data()})
                  .ok());
  const std::vector<float> got = sums(asked, std::vector<float>(40 * 4, kNothing));
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t h = 0; h < 4; ++h) {
      const bool ours = h == 1 || h == 2;  // the other heads are left alone
      if (ours)
        EXPECT_NEAR(got[i * 4 + h], lse[i * 4 + h],
                    test::is_prompt_of_card(GetParam(), 40 * 4) ? test::kPromptLse : 5e-6f);
      else
        EXPECT_EQ(got[i * 4 + h], kNothing);
    }
}

TEST_P(EveryLogSum, keys_added_part_by_part_give_the_sum_of_all) {
  const test::LaneFixture lane({.head_dim = 64, .n_first = 40, .n_pages = 1, .n_last = 200});
  const test::Queries queries(50, 2, 64, lane.end_position() - 100);
  const LaneView all = lane.view();
  const std::vector<float> nothing(queries.lse.size(), kNothing);
  const std::vector<float> whole = sums(queries.over(all), nothing);
  std::vector<float> parts = nothing;
  for (const ExactRun& run : all.runs)
    parts = sums(queries.over({.runs = {&run, 1}, .pages = {}}), parts);
  parts = sums(queries.over({.runs = {}, .pages = all.pages}), parts);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i] == kNothing)
      EXPECT_EQ(parts[i], kNothing);
    else
      EXPECT_NEAR(parts[i], whole[i], 5e-6f);
  }
}

// The offset of a row's sums follows the largest logit, wherever that comes.
TEST_P(EveryLogSum, logits_of_thousands_that_rise_and_fall_do_not_overflow) {
  constexpr std::size_t kDim = 32, kKeys = 700;
  std::vector<Half> k(kKeys * kDim);
  std::vector<std::int32_t> positions(kKeys);
  for (std::size_t j = 0; j < kKeys; ++j) {
    k[j * kDim] = float_to_half(static_cast<float>(j));
    positions[j] = static_cast<std::int32_t>(j);
  }
  std::vector<float> q(3 * kDim, 0.0f);
  q[0] = 10;           // up to 6990
  q[kDim] = -10;       // from 0 down
  q[2 * kDim] = 0.1f;  // in steps below the slack
  const ExactRun run{
      .k = k.data(), .v = k.data(), .positions = positions.data(), .n_tokens = kKeys};
  const LaneQueries asked{.q = q.data(),
                          .batch = {.positions = positions.data(), .n_tokens = 1},
                          .n_heads = 3,
                          .head_dim = kDim,
                          .n_group = 3,
                          .keys = {.runs = {&run, 1}, .pages = {}},
                          .mask = AttentionMask::full};
  const std::vector<float> lse = sums(asked, {kNothing, kNothing, kNothing});
  EXPECT_NEAR(lse[0], 6990 + std::log1p(std::exp(-10.0)), 1e-3);
  EXPECT_NEAR(lse[1], std::log1p(std::exp(-10.0)), 2e-6);
  EXPECT_NEAR(lse[2], 69.9 - std::log1p(-std::exp(-0.1)), 5e-4);
}

TEST_P(EveryLogSum, no_queries_or_keys_change_nothing) {
  const test::LaneFixture lane({.head_dim = 64, .n_last = 3});
  const test::Queries queries(3, 1, 64);
  LaneQueries asked = queries.over(lane.view());
  asked.batch.n_tokens = 0;
  EXPECT_EQ(sums(asked, queries.lse), queries.lse);
  EXPECT_EQ(sums(queries.over({}), queries.lse), queries.lse);
  EXPECT_TRUE(backend().logsumexp({}).ok());
}

TEST_P(EveryLogSum, lanes_of_one_call_and_any_number_of_threads_give_the_same_bits) {
  const test::LaneFixture lanes[] = {
      test::LaneFixture({.head_dim = 64, .n_last = 333, .seed = 1}),
      test::LaneFixture(
          {.head_dim = 64, .n_pages = 2, .n_last = 150, .page = test::affine_pages(2), .seed = 2})};
  const test::Queries queries(150, 3, 64, 100);
  for (const AttentionMask mask : kEverySees) {
    std::vector<std::vector<float>> found;
    for (const std::size_t n_threads : {1u, 2u, 5u}) {
      std::vector<float> together;
      std::vector<std::vector<float>> lse(2, queries.lse);
      std::vector<LogSumExpArgs> items;
      for (std::size_t l = 0; l < 2; ++l) {
        items.push_back({.lane = queries.over(lanes[l].view()), .lse = lse[l].data()});
        items.back().lane.mask = mask;
      }
      ASSERT_TRUE(test::open_row(GetParam(), n_threads)->logsumexp(items).ok());
      for (const LogSumExpArgs& item : items)
        together.insert(together.end(), item.lse, item.lse + queries.lse.size());
      found.push_back(together);
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_EQ(found[0], found[2]);
    LaneQueries alone = queries.over(lanes[1].view());
    alone.mask = mask;
    const std::vector<float> second(found[0].begin() + static_cast<std::ptrdiff_t>(150 * 5),
                                    found[0].end());
    EXPECT_EQ(sums(alone, queries.lse), second);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryLogSum, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
