#include "app/cli/eval/needle_file.h"

#include <gtest/gtest.h>

namespace satchel::app {
namespace {

TEST(Needles, an_answer_is_right_when_its_first_word_is_the_value) {
  EXPECT_TRUE(says_first(" Corwin.", "Corwin"));
  EXPECT_TRUE(says_first("Corwin", "Corwin"));
  EXPECT_TRUE(says_first("\n Corwin, and", "Corwin"));
  EXPECT_FALSE(says_first(" Corwinson", "Corwin"));
  EXPECT_FALSE(says_first(" Corwin\xc3\xa9", "Corwin"));
  EXPECT_FALSE(says_first(" Cor", "Corwin"));
  EXPECT_FALSE(says_first(" Mr Corwin", "Corwin"));
  EXPECT_FALSE(says_first("", "Corwin"));
}

TEST(Needles, an_answer_has_said_enough_when_its_word_is_over) {
  EXPECT_TRUE(said_enough(" Corwin.", "Corwin"));
  EXPECT_TRUE(said_enough(" Somebody else", "Corwin"));
  EXPECT_FALSE(said_enough(" Corwin", "Corwin"));
  EXPECT_FALSE(said_enough(" Corwins", "Corwin"));
}

}  // namespace
}  // namespace satchel::app
