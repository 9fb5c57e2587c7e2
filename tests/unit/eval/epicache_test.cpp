// Topics of texts by their words.
#include "app/eval/measure/epicache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace satchel::eval {
namespace {

const std::vector<std::string> kTexts = {"the cat likes milk", "the train leaves at nine",
                                         "milk for the cat", "a train at nine or ten",
                                         "cat and milk"};

std::vector<Topic> topics(std::size_t n) {
  const WordVectors words(kTexts);
  std::vector<WordVector> vectors;
  for (const std::string& text : kTexts) vectors.push_back(words.of(text));
  return topics_of(vectors, n);
}

TEST(EpiCacheTopics, texts_that_share_words_are_one_topic) {
  const std::vector<Topic> two = topics(2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].members, (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(two[1].members, (std::vector<std::size_t>{1, 3}));
}

TEST(EpiCacheTopics, every_text_has_one_topic_and_the_medoid_is_of_its_own) {
  for (std::size_t n = 1; n < 8; ++n) {
    std::vector<std::size_t> all;
    for (const Topic& topic : topics(n)) {
      EXPECT_EQ(std::ranges::count(topic.members, topic.medoid), 1);
      all.insert(all.end(), topic.members.begin(), topic.members.end());
    }
    std::ranges::sort(all);
    EXPECT_EQ(all, (std::vector<std::size_t>{0, 1, 2, 3, 4})) << n;
  }
}

TEST(EpiCacheTopics, of_nothing_there_is_none) {
  EXPECT_TRUE(topics_of({}, 4).empty());
}

}  // namespace
}  // namespace satchel::eval
