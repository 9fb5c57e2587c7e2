// Column sums of the attention matrix (accumulated attention), which choose the tokens to keep.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "support/backends.h"
#include "support/lanes.h"
#include "support/questions.h"
#include "unit/kernels/lane_queries_fixture.h"

namespace satchel::kernels {
namespace {

// Fixture F5: a causal map of five tokens, one row per query.
const std::vector<std::vector<float>> kF5 = {{1},
                                             {0.5f, 0.5f},
                                             {0.5f, 0.1f, 0.4f},
                                             {0.4f, 0.05f, 0.35f, 0.2f},
                                             {0.3f, 0.05f, 0.25f, 0.1f, 0.3f}};

// Keys are unit vectors and queries list the logits, so that any matrix of probabilities can be
// had.
class F5 {
 public:
  static constexpr std::size_t kDim = 32, kTokens = 5;
  explicit F5(std::size_t n_group) : n_group_(n_group), q_(kTokens * n_group * kDim, 0.0f) {
    k_.assign(kTokens * kDim, 0);
    for (std::size_t j = 0; j < kTokens; ++j) k_[j * kDim + j] = float_to_half(1);
    for (std::size_t i = 0; i < kTokens; ++i) {
      positions_.push_back(static_cast<std::int32_t>(i));
      for (std::size_t h = 0; h < n_group; ++h)
        for (std::size_t j = 0; j <= i; ++j) q_[(i * n_group + h) * kDim + j] = std::log(kF5[i][j]);
    }
  }
  ExactRun run(std::size_t n = kTokens) const {
    return {.k = k_.data(), .v = k_.data(), .positions = positions_.data(), .n_tokens = n};
  }
  // Adds the scores of queries first … first + n - 1 to `scores`.
  void add(Backend& backend, std::size_t first, std::size_t n, std::vector<float>& scores,
           ScoreArgs::Of of = ScoreArgs::Of::probability) const {
    const ExactRun all = run();
    const LaneView lane{.runs = {&all, 1}, .pages = {}};
    std::vector<float> out(n * n_group_ * kDim), lse(n * n_group_);
    const float* q = q_.data() + first * n_group_ * kDim;
    const Batch batch{.positions = positions_.data() + first, .n_tokens = n};
    const auto table = test::table_of(backend, {lane});
    const Sequence sequence{.lanes = table.get(), .n_tokens = n};
    ASSERT_TRUE(backend
                    .attend({.q = q,
                             .n_heads = n_group_,
                             .n_kv_heads = 1,
                             .head_dim = kDim,
                             .batch = batch,
                             .sequences = {&sequence, 1},
                             .out = out.data(),
                             .lse = lse.data()})
                    .ok());
    const ExactRun keys = run(scores.size());
    const ScoreArgs args{.lane = {.q = q,
                                  .batch = batch,
                                  .n_heads = n_group_,
                                  .head_dim = kDim,
                                  .n_group = n_group_,
                                  .keys = {.runs = {&keys, 1}, .pages = {}}},
                         .lse = lse.data(),
                         .scores = scores.data(),
                         .of = of};
    ASSERT_TRUE(backend.score({&args, 1}).ok());
  }

 private:
  std::size_t n_group_;
  std::vector<float> q_;
  std::vector<Half> k_;
  std::vector<std::int32_t> positions_;
};

class EveryScore : public test::OnEveryBackend {};

TEST_P(EveryScore, the_sums_of_fixture_f5) {  // K1
  for (const std::size_t n_group : {1u, 4u}) {
    std::vector<float> scores(5, 0.0f);
    F5(n_group).add(backend(), 0, 5, scores);
    const float sums[] = {2.7f, 0.7f, 1.0f, 0.3f, 0.3f};
    const float means[] = {0.54f, 0.175f, 0.3333f, 0.15f, 0.3f};
    const float more = test::is_prompt_of_card(GetParam(), 5 * n_group) ? 1e-4f : 0.0f;
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_NEAR(scores[j], sums[j], 1e-5f + more);
      EXPECT_NEAR(scores[j] / static_cast<float>(5 - j), means[j], 5e-5f + more);
    }
  }
}

TEST_P(EveryScore, a_window_of_the_last_queries_over_the_first_keys) {  // K2
  std::vector<float> scores(3, 0.0f);
  F5(1).add(backend(), 3, 2, scores);
  EXPECT_NEAR(scores[0], 0.7f, 1e-5f);
  EXPECT_NEAR(scores[1], 0.1f, 1e-5f);
  EXPECT_NEAR(scores[2], 0.6f, 1e-5f);
}

TEST_P(EveryScore, scores_sum_to_the_number_of_queries_and_are_added_to_what_was_there) {  // K3
  std::vector<float> scores(5, 2.0f);
  F5(3).add(backend(), 0, 5, scores);
  float sum = 0;
  for (const float s : scores) sum += s;
  EXPECT_NEAR(sum, 15.0f, 2e-5f);
}

TEST_P(EveryScore, chunks_of_1_2_and_5_give_the_same_scores) {  // K4
  std::vector<float> whole(5, 0.0f);
  F5(2).add(backend(), 0, 5, whole);
  for (const std::size_t chunk : {1u, 2u}) {
    std::vector<float> parts(5, 0.0f);
    for (std::size_t first = 0; first < 5; first += chunk)
      F5(2).add(backend(), first, std::min<std::size_t>(chunk, 5 - first), parts);
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(parts[j], whole[j], 1e-6f);
  }
}

// Sc1: arXiv:2305.17118. Token 1 of query 1 has exactly the mean: no miss.
TEST_P(EveryScore, misses_of_fixture_f5_whole_and_in_chunks) {
  for (const std::size_t n_group : {1u, 4u}) {
    const F5 f5(n_group);
    for (const std::size_t chunk : {1u, 2u, 3u, 5u}) {
      std::vector<float> misses(5, 0.0f);
      for (std::size_t first = 0; first < 5; first += chunk)
        f5.add(backend(), first, std::min<std::size_t>(chunk, 5 - first), misses,
               ScoreArgs::Of::below_mean);
      EXPECT_EQ(misses, (std::vector<float>{0, 3, 0, 2, 0})) << n_group << " " << chunk;
    }
  }
}

// is_prompt: on a card, whose queries are rounded to fp16 then.
void expect_near(const std::vector<float>& got, const std::vector<float>& want, bool is_prompt) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t j = 0; j < got.size(); ++j)
    ASSERT_NEAR(got[j], want[j],
                (is_prompt ? test::kPromptShare : 2e-5f) * std::abs(want[j]) + 1e-5f)
        << "key " << j;
}

TEST_P(EveryScore, prompts_of_every_shape_are_the_references) {  // K5
  std::size_t n_cases = 0;
  for (const std::size_t d : {48u, 64u, 80u, 96u, 128u, 256u, 512u}) {
    if (d > backend().head_dim_max()) continue;
    for (const std::size_t n_group : {1u, 4u, 7u}) {
      for (const std::size_t n : {1u, 127u, 129u}) {
        if (!takes(n_cases++, 4)) continue;
        SCOPED_TRACE(testing::Message() << d << ", group " << n_group << ", " << n);
        const test::LaneFixture lane({.head_dim = d, .n_last = n, .seed = n, .loud = 3});
        const test::Queries queries(n, n_group, d, 0, 2);
        std::vector<float> want(n, 0.5f), got(n, 0.5f);
        const ScoreArgs want_args = queries.args(lane.view(), want);
        const ScoreArgs got_args = queries.args(lane.view(), got);
        ASSERT_TRUE(reference().score({&want_args, 1}).ok());
        ASSERT_TRUE(backend().score({&got_args, 1}).ok());
        expect_near(got, want, test::is_prompt_of_card(GetParam(), n * n_group));
      }
    }
  }
}

// Every way to ask over every kind of lane.
TEST_P(EveryScore, every_reduction_over_every_kind_of_page_is_the_references) {
  const test::BackwardsCode code(128, 64);
  const OperandShape transformed{
      .form = OperandShape::Form::affine, .bits = 4, .group = 32, .transform = Transform::hadamard};
  const PageShape pages[] = {
      {},
      test::affine_pages(2),
      {.k = transformed, .v = {}},
      {.capacity = 96, .k = {.transform = Transform::hadamard}, .v = transformed},
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
        for (int way = 0; way < 12; ++way) {
          if (!takes(n_cases++, 11)) continue;
          SCOPED_TRACE(testing::Message() << &page - pages << " dead " << dead_every << " shift "
                                          << shift << " way " << way);
          const test::Queries queries(33, 3, 64, lane.end_position() - 70, 2);
          std::vector<float> want(test::n_slots(lane.view()), 0.01f);
          want[6] = -1e30f;
          std::vector<float> got = want;
          ScoreArgs args = queries.args(lane.view(), want);
          if (way % 2 == 1) args.weights = queries.weights.data();
          if (way % 3 == 1) args.lane.mask = AttentionMask::full;
          if (way % 4 == 2) args.lane.window = 90;
          if (way % 5 == 3) args.lane.soft_cap = 2;
          if (way >= 6) args.queries = ScoreArgs::Queries::max;
          if (way >= 9) args.heads = ScoreArgs::Heads::max;
          ASSERT_TRUE(reference().score({&args, 1}).ok());
          args.scores = got.data();
          ASSERT_TRUE(backend().score({&args, 1}).ok());
          expect_near(got, want, test::is_prompt_of_card(GetParam(), 33 * 3));
        }
      }
    }
  }
}

// A probability within rounding of the mean may fall on either side of it: what the reference
// counts with a mean a little smaller and a little larger are the bounds.
TEST_P(EveryScore, misses_over_every_kind_of_page_are_the_references) {
  const PageShape pages[] = {{}, test::affine_pages(2)};
  for (const PageShape& page : pages) {
    for (const std::size_t dead_every : {0u, 3u}) {
      const test::LaneFixture lane({.head_dim = 64,
                                    .n_first = 4,
                                    .n_pages = 3,
                                    .n_last = 150,
                                    .page = page,
                                    .page_tokens = page.capacity - 7,
                                    .dead_every = dead_every,
                                    .shift = -37});
      test::Queries queries(33, 3, 64, lane.end_position() - 70, 2);
      const std::size_t n = test::n_slots(lane.view());
      for (int way = 0; way < 4; ++way) {
        std::vector<float> got(n, 0.25f), least(n, 0.25f), most(n, 0.25f);
        ScoreArgs args = queries.args(lane.view(), got);
        args.of = ScoreArgs::Of::below_mean;
        args.n_beside = -400;
        if (way % 2 == 1) args.weights = queries.weights.data();
        if (way >= 2) args.lane.soft_cap = 2;
        ASSERT_TRUE(backend().score({&args, 1}).ok());
        for (const float nudge : {-1e-5f, 1e-5f}) {  // of all probabilities
          std::vector<float> lse = queries.lse;
          for (float& x : lse) x += nudge;
          args.lse = lse.data();
          args.scores = (nudge < 0 ? least : most).data();
          ASSERT_TRUE(reference().score({&args, 1}).ok());
        }
        std::size_t n_counted = 0;
        for (std::size_t j = 0; j < n; ++j) {
          ASSERT_GE(got[j], least[j] - 1e-5f * least[j]) << way << " " << j;
          ASSERT_LE(got[j], most[j] + 1e-5f * most[j]) << way << " " << j;
          n_counted += got[j] > 0.3f ? 1u : 0u;
        }
        EXPECT_GT(n_counted, 0u);
      }
    }
  }
}

TEST_P(EveryScore, dead_slots_and_keys_that_nobody_sees_keep_what_they_had) {
  const test::LaneFixture lane(
      {.head_dim = 64, .n_pages = 1, .n_last = 20, .page = test::affine_pages(4), .dead_every = 4});
  const LaneView keys = lane.view();
  // Runs come first: the last token and all of a page's dead slots are seen by none.
  const std::int32_t last = keys.runs[0].positions[19];
  for (const auto reduce : {ScoreArgs::Queries::sum, ScoreArgs::Queries::max}) {
    const test::Queries queries(2, 2, 64, last - 2);
    std::vector<float> scores(test::n_slots(keys), -7.0f);
    ScoreArgs args = queries.args(keys, scores);
    args.queries = reduce;
    ASSERT_TRUE(backend().score({&args, 1}).ok());
    EXPECT_EQ(scores[19], -7.0f);
    EXPECT_NE(scores[0], -7.0f);
    for (std::size_t slot = 0; slot < kPageTokens; ++slot)
      EXPECT_EQ(scores[20 + slot] == -7.0f, !keys.pages[0].live.has(slot)) << slot;
  }
}

TEST_P(EveryScore, the_largest_of_chunks_is_the_largest_of_all_and_weights_multiply) {
  const test::LaneFixture lane({.head_dim = 64, .n_last = 40});
  const test::Queries queries(24, 1, 64, 30);
  std::vector<float> whole(40, 0.0f), parts(40, 0.0f), doubled(40, 0.0f);
  ScoreArgs args = queries.args(lane.view(), whole);
  args.queries = ScoreArgs::Queries::max;
  args.heads = ScoreArgs::Heads::max;
  ASSERT_TRUE(backend().score({&args, 1}).ok());
  for (std::size_t first = 0; first < 24; first += 8) {
    ScoreArgs part = args;
    part.lane.q += first * 3 * 64;
    part.lse += first * 3;
    part.lane.batch.positions += first;
    part.lane.batch.n_tokens = 8;
    part.scores = parts.data();
    ASSERT_TRUE(backend().score({&part, 1}).ok());
  }
  const float limit = test::is_prompt_of_card(GetParam(), 24) ? test::kPromptShare : 1e-6f;
  for (std::size_t j = 0; j < 40; ++j) EXPECT_NEAR(parts[j], whole[j], limit * whole[j]);
  const std::vector<float> two(24, 2.0f);
  args.weights = two.data();
  args.scores = doubled.data();
  ASSERT_TRUE(backend().score({&args, 1}).ok());
  for (std::size_t j = 0; j < 40; ++j) EXPECT_FLOAT_EQ(doubled[j], 2 * whole[j]);
}

TEST_P(EveryScore, lanes_of_one_call_are_scored_apart) {
  std::vector<std::unique_ptr<test::LaneFixture>> lanes;
  const test::Queries queries(20, 2, 64, 500);
  std::vector<std::vector<float>> together, alone;
  std::vector<ScoreArgs> items;
  for (std::size_t l = 0; l < 4; ++l) {
    lanes.push_back(
        std::make_unique<test::LaneFixture>(test::LaneFixture::Shape{.head_dim = 64,
                                                                     .n_pages = l,
                                                                     .n_last = 100 * (l % 3),
                                                                     .page = test::affine_pages(2),
                                                                     .seed = l + 1}));
    together.emplace_back(test::n_slots(lanes[l]->view()), 0.0f);
    alone.push_back(together.back());
  }
  for (std::size_t l = 0; l < 4; ++l) {
    items.push_back(queries.args(lanes[l]->view(), together[l]));
    const ScoreArgs one = queries.args(lanes[l]->view(), alone[l]);
    ASSERT_TRUE(backend().score({&one, 1}).ok());
  }
  ASSERT_TRUE(backend().score(items).ok());
  EXPECT_EQ(together, alone);
}

TEST_P(EveryScore, no_queries_or_keys_change_nothing) {
  const test::LaneFixture lane({.head_dim = 64, .n_last = 3});
  const test::Queries queries(3, 1, 64);
  std::vector<float> scores(3, 1.5f);
  ScoreArgs args = queries.args(lane.view(), scores);
  args.lane.batch.n_tokens = 0;
  ASSERT_TRUE(backend().score({&args, 1}).ok());
  args = queries.args(LaneView{}, scores);
  ASSERT_TRUE(backend().score({&args, 1}).ok());
  ASSERT_TRUE(backend().score({}).ok());
  EXPECT_EQ(scores, std::vector<float>(3, 1.5f));
}

TEST_P(EveryScore, the_same_bits_for_any_number_of_threads) {
  const test::LaneFixture lane(
      {.head_dim = 64, .n_pages = 3, .n_last = 300, .page = test::affine_pages(2)});
  const test::Queries queries(300, 3, 64, 400);
  std::vector<float> one(test::n_slots(lane.view()), 0.0f), five = one;
  const ScoreArgs one_args = queries.args(lane.view(), one);
  const ScoreArgs five_args = queries.args(lane.view(), five);
  ASSERT_TRUE(test::open_row(GetParam(), 1)->score({&one_args, 1}).ok());
  ASSERT_TRUE(test::open_row(GetParam(), 5)->score({&five_args, 1}).ok());
  EXPECT_EQ(one, five);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryScore, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
