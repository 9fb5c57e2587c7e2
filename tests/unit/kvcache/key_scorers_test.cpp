// Golden cases of scorers that look at positions, keys and values alone: worked out by hand.
#include <gmock/gmock.h>

#include "unit/kvcache/read_text.h"

namespace satchel::kvcache {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// arXiv:2504.15364. The mean of the keys' directions is (2, 1) / 3, the cosines to it are 2 / √5 and
// 1 / √5; the score is 1 less that.
TEST(KeyScorers, keydiff_keeps_the_key_unlike_the_others_whatever_its_length) {
  const ReadText text{.keys = {{1, 0}, {1, 0}, {0, 1}}};
  const ReadText scaled{.keys = {{8, 0}, {0.25f, 0}, {0, 3}}};
  for (const ReadText& each : {text, scaled})
    for (const std::size_t chunk : {1u, 2u, 3u}) {
      const std::vector<float> scores = each.scores("keydiff", "{}", chunk);
      EXPECT_THAT(scores, Pointwise(FloatNear(1e-6f), {0.1055728f, 0.1055728f, 0.5527864f}));
      EXPECT_THAT(kept(scores, 1), ElementsAre(2));
      EXPECT_THAT(kept(scores, 2), ElementsAre(0, 2));
    }
}

// Of keys after RoPE: at positions 0 and 1 the key (1, 0) turned by a right angle a position stands
// at (1, 0) and (0, 1), each at 45° from the mean.
TEST(KeyScorers, keydiff_compares_keys_as_they_are_held) {
  const ReadText text{.keys = {{1, 0}, {1, 0}}, .inverse_frequency = {1.5707963267948966}};
  EXPECT_THAT(text.scores("keydiff"), Each(FloatNear(0.2928932f, 1e-3f)));
}

TEST(KeyScorers, keydiff_of_equal_keys_keeps_the_first_and_a_key_of_length_0_is_like_none) {
  const ReadText equal{.keys = ReadText::Matrix(5, {0.5f, 2})};
  EXPECT_THAT(kept(equal.scores("keydiff"), 2), ElementsAre(0, 1));
  const ReadText zero{.keys = {{0, 0}, {1, 0}}};
  EXPECT_THAT(zero.scores("keydiff"), Pointwise(FloatNear(1e-6f), {1.0f, 0.0f}));
  const ReadText nothing{.keys = {{0, 0}, {0, 0}}};
  EXPECT_THAT(nothing.scores("keydiff"), Each(1.0f));
}

}  // namespace
}  // namespace satchel::kvcache
