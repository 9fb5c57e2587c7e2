// Standard errors against sums done by hand.
#include "app/eval/commands/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace satchel::app {
namespace {

TEST(Clustered, equal_clusters_give_the_deviation_of_their_means) {
  // Three texts with four questions each: 4, 2 and 3 right. Means 1, .5, .75; their deviation is
  // .25.
  const std::vector<ClusterSum> texts = {{4, 4}, {4, 2}, {4, 3}};
  const Estimate of = clustered(texts);
  EXPECT_EQ(of.n, 12);
  EXPECT_EQ(of.n_clusters, 3u);
  EXPECT_DOUBLE_EQ(of.mean, 0.75);
  ASSERT_TRUE(of.se);
  EXPECT_NEAR(*of.se, 0.25 / std::sqrt(3.0), 1e-12);
}

TEST(Clustered, unequal_clusters_weigh_by_their_questions) {
  // 1 of 1 and 1 of 3: mean 1/2; rests 1/2 and -1/2; se² = 2/1 · (1/4 + 1/4) / 16 = 1/16.
  const std::vector<ClusterSum> texts = {{1, 1}, {3, 1}};
  const Estimate of = clustered(texts);
  EXPECT_DOUBLE_EQ(of.mean, 0.5);
  ASSERT_TRUE(of.se);
  EXPECT_NEAR(*of.se, 0.25, 1e-12);
}

// Five texts whose ten questions are all right or all wrong are five draws, not fifty.
TEST(Clustered, questions_about_one_text_do_not_count_as_independent) {
  std::vector<ClusterSum> texts, questions;
  for (const double right : {10.0, 10.0, 0.0, 10.0, 0.0}) {
    texts.push_back({10, right});
    for (int i = 0; i < 10; ++i) questions.push_back({1, right / 10});
  }
  const Estimate by_text = clustered(texts), by_question = clustered(questions);
  EXPECT_DOUBLE_EQ(by_text.mean, by_question.mean);
  EXPECT_NEAR(*by_text.se, std::sqrt(0.3 / 5), 1e-12);  // variance of {1, 1, 0, 1, 0} is .3
  EXPECT_GT(*by_text.se, 3 * *by_question.se);
}

TEST(Clustered, nothing_one_cluster_or_clusters_all_alike_have_no_error) {
  EXPECT_EQ(clustered({}).n, 0);
  EXPECT_EQ(clustered({}).mean, 0);
  const std::vector<ClusterSum> one = {{5, 3}}, alike = {{5, 5}, {3, 3}},
                                empty_one = {{5, 3}, {0, 0}};
  EXPECT_FALSE(clustered(one).se);
  EXPECT_DOUBLE_EQ(clustered(one).mean, 0.6);
  EXPECT_FALSE(clustered(alike).se);
  EXPECT_DOUBLE_EQ(clustered(alike).mean, 1);
  EXPECT_EQ(clustered(empty_one).n_clusters, 1u);
  EXPECT_FALSE(clustered(empty_one).se);
}

}  // namespace
}  // namespace satchel::app
