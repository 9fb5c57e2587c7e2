// Column sums of the attention matrix (accumulated attention), which choose the tokens to keep.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/backends.h"
#include "support/lanes.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

// Fixture F5 of ../shared/methods/selection.md section 1: five tokens, one row per query.
const std::vector<std::vector<float>> kF5 = {{1},
                                             {0.5f, 0.5f},
                                             {0.5f, 0.1f, 0.4f},
                                             {0.4f, 0.05f, 0.35f, 0.2f},
                                             {0.3f, 0.05f, 0.25f, 0.1f, 0.3f}};

// Keys are unit vectors and queries list the logits, so that any matrix of probabilities can be had.
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
  void add(Backend& backend, std::size_t first, std::size_t n, std::vector<float>& scores) const {
    const ExactRun all = run();
    const LaneView lane{.runs = {&all, 1}, .pages = {}};
    std::vector<float> out(n * n_group_ * kDim), lse(n * n_group_);
    const float* q = q_.data() + first * n_group_ * kDim;
    const std::span positions(positions_.data() + first, n);
    ASSERT_TRUE(backend
                    .attend({.q = q,
                             .n_tokens = n,
                             .n_heads = n_group_,
                             .head_dim = kDim,
                             .positions = positions,
                             .lanes = {&lane, 1},
                             .out = out.data(),
                             .lse = lse.data()})
                    .ok());
    ASSERT_TRUE(backend
                    .score({.q = q,
                            .lse = lse.data(),
                            .n_tokens = n,
                            .n_heads = n_group_,
                            .head_dim = kDim,
                            .n_group = n_group_,
                            .positions = positions,
                            .keys = run(scores.size()),
                            .scores = scores.data()})
                    .ok());
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
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_NEAR(scores[j], sums[j], 1e-5f);
      EXPECT_NEAR(scores[j] / static_cast<float>(5 - j), means[j], 5e-5f);
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

struct Prompt {
  std::size_t n, n_group, head_dim;
  std::vector<float> q = {}, lse = {};
  std::vector<Half> k = {}, v = {};
  std::vector<std::int32_t> positions = {};
  ExactRun run() const {
    return {.k = k.data(), .v = v.data(), .positions = positions.data(), .n_tokens = n};
  }
  ScoreArgs args(std::vector<float>& scores) const {
    return {.q = q.data(),
            .lse = lse.data(),
            .n_tokens = n,
            .n_heads = n_group + 2,
            .head_dim = head_dim,
            .first_head = 1,
            .n_group = n_group,
            .positions = positions,
            .keys = run(),
            .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
            .scores = scores.data()};
  }
};

// A prompt of n tokens; the lane's heads are 1 … n_group of n_group + 2. lse by the reference.
Prompt random_prompt(Backend& reference, std::size_t n, std::size_t n_group, std::size_t d) {
  Prompt p{.n = n, .n_group = n_group, .head_dim = d};
  p.q = test::random_values(n * (n_group + 2) * d, n + d);
  p.k = test::random_halves(n * d, d, n, 3);
  p.v = test::random_halves(n * d, d, n + 1);
  for (std::size_t i = 0; i < n; ++i) p.positions.push_back(static_cast<std::int32_t>(2 * i + 3));
  p.lse.resize(n * (n_group + 2));
  std::vector<float> out(p.q.size());
  const ExactRun run = p.run();
  const LaneView lane{.runs = {&run, 1}, .pages = {}};
  EXPECT_TRUE(reference
                  .attend({.q = p.q.data(),
                           .n_tokens = n,
                           .n_heads = n_group + 2,
                           .head_dim = d,
                           .positions = p.positions,
                           .lanes = {&lane, 1},
                           .scale = 1 / std::sqrt(static_cast<float>(d)),
                           .out = out.data(),
                           .lse = p.lse.data()})
                  .ok());
  return p;
}

TEST_P(EveryScore, prompts_of_every_shape_are_the_references) {  // K5
  for (const std::size_t d : {64u, 80u, 96u, 128u, 256u}) {
    for (const std::size_t n_group : {1u, 4u, 7u}) {
      for (const std::size_t n : {1u, 127u, 129u}) {
        SCOPED_TRACE(testing::Message() << d << ", group " << n_group << ", " << n);
        const Prompt p = random_prompt(reference(), n, n_group, d);
        std::vector<float> want(n, 0.5f), got(n, 0.5f);
        ASSERT_TRUE(reference().score(p.args(want)).ok());
        ASSERT_TRUE(backend().score(p.args(got)).ok());
        float total = 0;
        for (std::size_t j = 0; j < n; ++j) {
          EXPECT_NEAR(got[j], want[j], 1e-5f + 2e-5f * want[j]) << j;
          total += got[j] - 0.5f;
        }
        EXPECT_NEAR(total, static_cast<float>(n), 2e-4f * static_cast<float>(n));
      }
    }
  }
}

TEST_P(EveryScore, no_queries_or_keys_change_nothing) {
  Prompt p = random_prompt(reference(), 3, 1, 64);
  std::vector<float> scores(3, 1.5f);
  ScoreArgs args = p.args(scores);
  args.n_tokens = 0;
  args.positions = {};
  ASSERT_TRUE(backend().score(args).ok());
  args = p.args(scores);
  args.keys.n_tokens = 0;
  ASSERT_TRUE(backend().score(args).ok());
  EXPECT_EQ(scores, std::vector<float>(3, 1.5f));
}

TEST_P(EveryScore, the_same_bits_for_any_number_of_threads) {
  const Prompt p = random_prompt(reference(), 300, 3, 64);
  std::vector<float> one(300, 0.0f), five(300, 0.0f);
  ASSERT_TRUE(test::open_row(GetParam(), 1)->score(p.args(one)).ok());
  ASSERT_TRUE(test::open_row(GetParam(), 5)->score(p.args(five)).ok());
  EXPECT_EQ(one, five);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryScore, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
