// The cuda backend beside the reference on shapes that are too many or too long for the executor:
// all head_dims and groups, lengths around the ends of pages, contexts up to 64k. Only where there
// is a card; SATCHEL_TEST_ROW names another row of backend_rows() to try the tests themselves on.
//   limits   of packed attention: || difference || / || reference ||, logsumexp absolute; they
//            hold for the fp16 products of matrix units (README.md)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "support/backends.h"
#include "support/lanes.h"
#include "support/questions.h"
#include "support/weights.h"
#include "unit/kernels/lane_queries_fixture.h"

namespace satchel::kernels {
namespace {

using test::LaneFixture;
using test::Question;

constexpr double kAttend = 2e-3, kColumns = 2e-3, kProduct = 5e-4;
constexpr float kLogSum = 1e-2f;

std::vector<test::BackendRow> row_of_a_card() {
  const char* other = std::getenv("SATCHEL_TEST_ROW");
  const std::string_view wanted = other == nullptr ? "cuda" : other;
  std::vector<test::BackendRow> rows = test::backend_rows();
  std::erase_if(rows, [&](const test::BackendRow& row) { return row.name != wanted; });
  return rows;
}

class OnACard : public test::AttendLikeReference {
 protected:
  void expect_close(const Question& question, const std::vector<LaneView>& lanes) {
    expect_like_reference(question, lanes, kAttend, kLogSum);
  }
};

PageShape pages_of(std::size_t bits, std::size_t head_dim) {
  PageShape shape = test::affine_pages(bits, kPageTokens);
  if (bits < 16) shape.v.group = head_dim;
  return shape;
}

TEST_P(OnACard, every_head_dim_and_group_over_lengths_around_the_ends_of_pages) {
  std::size_t i = 0;
  for (const std::size_t d : {64u, 80u, 96u, 128u})
    for (std::size_t group = 1; group <= 8; ++group)
      for (const std::size_t bits : {2u, 3u, 4u, 8u, 16u})
        for (const std::size_t n_last : {0u, 1u, 31u, 33u, 127u}) {
          const std::size_t n_pages = 1 + ++i % 9;
          SCOPED_TRACE(testing::Message() << d << ", group of " << group << ", " << bits
                                          << " bits, " << n_pages << " pages and " << n_last);
          const LaneFixture lane({.head_dim = d,
                                  .n_first = i % 2 * 4,
                                  .n_pages = n_pages,
                                  .n_last = n_last,
                                  .page = pages_of(bits, d),
                                  .page_tokens = i % 3 == 0 ? 127u : 0u,
                                  .seed = i});
          expect_close({.n_tokens = 1 + i % 2,
                        .n_group = group,
                        .head_dim = d,
                        .first_position = lane.end_position() - 1},
                       {lane.view(), lane.view()});
        }
}

// Spread attention sums thousands of small shares, where rounding adds up.
TEST_P(OnACard, contexts_up_to_64k_spread_and_peaked) {
  for (const std::size_t n_pages : {8u, 32u, 128u, 512u})
    for (const std::size_t bits : {2u, 4u, 16u}) {
      const LaneFixture lane({.head_dim = 128,
                              .n_first = 4,
                              .n_pages = n_pages,
                              .n_last = 77,
                              .page = pages_of(bits, 128),
                              .seed = n_pages});
      for (const double loudness : {0.1, 1.0, 3.0}) {
        SCOPED_TRACE(testing::Message()
                     << n_pages << " pages of " << bits << " bits, queries times " << loudness);
        expect_close({.n_group = 4,
                      .head_dim = 128,
                      .first_position = lane.end_position(),
                      .loudness = loudness},
                     {lane.view()});
      }
    }
}

TEST_P(OnACard, lanes_of_very_different_lengths_in_one_call) {
  std::vector<LaneFixture> fixtures;
  std::vector<LaneView> lanes;
  for (std::size_t i = 0; i < 16; ++i)
    fixtures.emplace_back(LaneFixture::Shape{.head_dim = 128,
                                             .n_pages = 128 / (i + 1) - 8 * (i % 2),
                                             .n_last = i * 17 % 129,
                                             .page = pages_of(4, 128),
                                             .seed = i});
  std::int32_t end = 0;
  for (const LaneFixture& fixture : fixtures) {
    lanes.push_back(fixture.view());
    end = std::max(end, fixture.end_position());
  }
  for (const std::size_t group : {1u, 4u, 8u})
    expect_close({.n_group = group, .head_dim = 128, .first_position = end}, lanes);
}

TEST_P(OnACard, prompts_over_themselves_and_packed_text) {
  for (const std::size_t d : {64u, 80u, 96u, 128u})
    for (const std::size_t n_tokens : {17u, 129u, 500u}) {
      SCOPED_TRACE(testing::Message() << d << ", " << n_tokens << " tokens");
      const LaneFixture lane({.head_dim = d,
                              .n_pages = 5,
                              .n_last = n_tokens,
                              .page = pages_of(4, d),
                              .seed = n_tokens});
      const auto first = lane.end_position() - static_cast<std::int32_t>(n_tokens);
      expect_close({.n_tokens = n_tokens, .n_group = 3, .head_dim = d, .first_position = first},
                   {lane.view(), lane.view()});
    }
}

TEST_P(OnACard, column_sums_of_a_prompt) {
  for (const std::size_t d : {64u, 80u, 96u, 128u}) {
    const LaneFixture lane({.head_dim = d, .n_pages = 2, .n_last = 900, .page = pages_of(4, d)});
    const test::Queries queries(900, 4, d, lane.end_position() - 900);
    std::vector<float> got(test::n_slots(lane.view())), want = got;
    const ScoreArgs here = queries.args(lane.view(), got), there = queries.args(lane.view(), want);
    ASSERT_TRUE(backend().score({&here, 1}).ok());
    ASSERT_TRUE(reference().score({&there, 1}).ok());
    double largest = 0;
    for (const float x : want) largest = std::max(largest, std::abs(double{x}));
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], kColumns * (std::abs(double{want[i]}) + 1e-3 * largest)) << i;
  }
}

TEST_P(OnACard, the_largest_of_a_quarter_million_scores) {
  constexpr std::size_t kScores = 262'144;
  std::vector<float> scores = test::random_values(kScores, 3);
  for (std::size_t i = 0; i < kScores; i += 7) scores[i] = 0.5f;  // many alike
  for (const std::size_t keep : {std::size_t{1}, kScores / 8, kScores / 2, kScores - 1}) {
    std::vector<std::int32_t> got(keep), want(keep);
    const SelectArgs here{scores.data(), kScores, keep, got.data()};
    const SelectArgs there{scores.data(), kScores, keep, want.data()};
    ASSERT_TRUE(backend().select({&here, 1}).ok());
    ASSERT_TRUE(reference().select({&there, 1}).ok());
    EXPECT_EQ(got, want) << keep;
  }
}

TEST_P(OnACard, products_of_the_sizes_that_models_have) {
  for (const WeightType type :
       {WeightType::q4_0, WeightType::q4_k, WeightType::q6_k, WeightType::q8_0, WeightType::f16})
    for (const auto& [n_out, n_in] :
         {std::pair<std::size_t, std::size_t>{256, 4096}, {1000, 2048}, {48, 14336}}) {
      const auto file = test::random_weight(type, n_out, n_in, n_out);
      auto here = backend().load_weight(file.source());
      auto there = reference().load_weight(file.source());
      ASSERT_TRUE(here.ok() && there.ok());
      for (const std::size_t n_tokens : {1u, 8u, 65u}) {
        const auto x = test::random_values(n_tokens * n_in, n_tokens);
        std::vector<float> got(n_tokens * n_out), want = got;
        ASSERT_TRUE(backend().matmul(**here, x.data(), n_tokens, got.data()).ok());
        ASSERT_TRUE(reference().matmul(**there, x.data(), n_tokens, want.data()).ok());
        EXPECT_LE(test::distance(got, want), kProduct)
            << weight_type_traits(type).name << " " << n_out << "x" << n_in << ", " << n_tokens;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, OnACard, testing::ValuesIn(row_of_a_card()), test::row_name);

}  // namespace
}  // namespace satchel::kernels
