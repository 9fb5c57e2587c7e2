#include "runtime/sampler/lookup_drafts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Ids = std::vector<std::int32_t>;

// After a step that took 1 ms.
LookupDrafts with_a_plain_step() {
  LookupDrafts drafts;
  drafts.took(1, {});
  return drafts;
}
Ids after(LookupDrafts& drafts, const Ids& text, std::size_t n_most = LookupDrafts::kMost) {
  const auto found = drafts.after(text, n_most);
  return {found.begin(), found.end()};
}

TEST(LookupDrafts, are_what_followed_the_newest_tokens_before) {
  LookupDrafts drafts = with_a_plain_step();
  EXPECT_THAT(after(drafts, {1, 2, 3, 4, 5, 6, 9, 1, 2, 3}), ElementsAre(4, 5)) << "at first";
  EXPECT_THAT(after(drafts, {1, 2, 3, 4, 5, 6, 9, 1, 2, 3}, 1), ElementsAre(4));
  EXPECT_THAT(after(drafts, {1, 2, 3, 4, 5, 6, 9, 1, 2, 3}, 0), IsEmpty());
  EXPECT_THAT(after(drafts, {1, 2, 3}), IsEmpty());
  EXPECT_THAT(after(drafts, {}), IsEmpty());
  EXPECT_THAT(after(drafts, {9, 8, 7, 1, 2, 3}), IsEmpty());
  EXPECT_THAT(after(drafts, {2, 3, 4, 5, 9, 1, 2, 3}), IsEmpty()) << "two tokens are too few";
}

TEST(LookupDrafts, follow_the_longest_match_and_of_those_the_newest) {
  LookupDrafts drafts = with_a_plain_step();
  EXPECT_THAT(after(drafts, {7, 1, 2, 3, 40, 8, 1, 2, 3, 50, 7, 1, 2, 3}, 1), ElementsAre(40));
  EXPECT_THAT(after(drafts, {7, 1, 2, 3, 40, 7, 1, 2, 3, 50, 7, 1, 2, 3}, 1), ElementsAre(50));
}

TEST(LookupDrafts, go_on_close_behind_where_the_last_ones_ended) {
  LookupDrafts drafts = with_a_plain_step();
  Ids text = {1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 1, 2, 3};
  EXPECT_THAT(after(drafts, text), ElementsAre(4, 5));
  drafts.took(1, {.n_drafted = 2, .n_accepted = 1});  // then another word than 5
  text.insert(text.end(), {4, 99, 6});
  EXPECT_THAT(after(drafts, text, 2), ElementsAre(7, 8));
}

TEST(LookupDrafts, wait_for_a_step_to_compare_with) {
  LookupDrafts drafts;
  const Ids text = {1, 2, 3, 4, 5, 6, 9, 1, 2, 3};
  EXPECT_THAT(after(drafts, text), IsEmpty());
  drafts.took(1, {});
  EXPECT_FALSE(after(drafts, text).empty());
}

// All accepted and nearly free: as many as there may be. All refused: none, but a few tries.
TEST(LookupDrafts, are_as_many_as_pay) {
  Ids text;
  for (int repeat = 0; repeat < 2; ++repeat)
    for (int id = 0; id < 40; ++id) text.push_back(id);
  text.resize(60);
  LookupDrafts drafts = with_a_plain_step();
  for (int i = 0; i < 20; ++i) {
    const std::size_t n = after(drafts, text).size();
    ASSERT_GT(n, 0u);
    drafts.took(1.1, {.n_drafted = n, .n_accepted = n});
  }
  EXPECT_EQ(after(drafts, text).size(), LookupDrafts::kMost);
  std::size_t n_tried = 0;
  for (std::size_t i = 0; i < 10 * LookupDrafts::kRetrySteps; ++i) {
    const std::size_t n = after(drafts, text).size();
    n_tried += n > 0 ? 1 : 0;
    drafts.took(1 + 0.8 * static_cast<double>(n), {.n_drafted = n, .n_accepted = 0});
  }
  EXPECT_LE(n_tried, 30u);
  EXPECT_GE(n_tried, 5u);
}

// An answer that repeats 40 tokens: all drafts are accepted, a draft takes .1 of a step, and steps
// of `slow` (numbered among those with drafts) take 200 times as long.
std::vector<std::size_t> n_drafted_with_slow_steps(const std::vector<std::size_t>& slow,
                                                   std::size_t n_steps = 20) {
  Ids text;
  for (int i = 0; i < 60; ++i) text.push_back(i % 40);
  LookupDrafts drafts = with_a_plain_step();
  std::vector<std::size_t> all;
  for (std::size_t step = 0, n_with = 0; step < n_steps; ++step) {
    const std::size_t n = all.emplace_back(after(drafts, text).size());
    const bool is_slow = n > 0 && std::ranges::find(slow, n_with) != slow.end();
    n_with += n > 0 ? 1 : 0;
    drafts.took((1 + .1 * static_cast<double>(n)) * (is_slow ? 200 : 1),
                {.n_drafted = n, .n_accepted = n});
  }
  return all;
}

TEST(LookupDrafts, no_single_slow_step_turns_them_off) {
  const auto without = n_drafted_with_slow_steps({});
  for (std::size_t slow = 0; slow < without.size(); ++slow)
    EXPECT_EQ(n_drafted_with_slow_steps({slow}), without) << "step " << slow;
}

TEST(LookupDrafts, nor_do_two_among_five) {
  const auto without = n_drafted_with_slow_steps({});
  for (std::size_t first = 4; first < without.size(); ++first)
    EXPECT_EQ(n_drafted_with_slow_steps({first, first + 1}), without) << "step " << first;
}

TEST(LookupDrafts, come_back_with_the_first_try_after_a_busy_while) {
  const std::size_t n_steps = 20 + LookupDrafts::kRetrySteps;
  const auto n = n_drafted_with_slow_steps({5, 6, 7}, n_steps);
  const auto off = std::ranges::find(n, std::size_t{0});
  ASSERT_NE(off, n.end());
  const auto again = std::find_if(off, n.end(), [](std::size_t one) { return one > 0; });
  EXPECT_EQ(static_cast<std::size_t>(again - off), LookupDrafts::kRetrySteps);
  ASSERT_LT(again + 1, n.end());
  EXPECT_EQ(again[1], LookupDrafts::kMost);
}

}  // namespace
}  // namespace satchel::runtime
