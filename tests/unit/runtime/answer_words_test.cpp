#include "runtime/episodes/answer_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_state.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Tokenizer& tokenizer() {
  return *shared_engine().state().tokenizer;
}

std::vector<std::size_t> quoted(std::string_view question, std::string_view answer,
                                const std::vector<std::string>& texts) {
  return texts_quoted({.question = question, .answer = answer}, texts, tokenizer());
}

constexpr const char* kQuestion = "Which pet does Matteo Thorsen keep?";

TEST(AnswerWords, names_numbers_and_rare_words_tell_and_small_words_do_not) {
  EXPECT_THAT(telling_words("Which of the 7 notes says that Matteo keeps the Rabbit, a rabbit?",
                            tokenizer()),
              ElementsAre("7", "matteo", "rabbit"));
}

TEST(AnswerWords, an_answer_without_words_denies_as_does_one_that_says_so) {
  EXPECT_TRUE(denies(""));
  EXPECT_TRUE(denies(" ."));
  EXPECT_TRUE(denies("The notes do NOT SAY."));
  EXPECT_FALSE(denies("A rabbit."));
}

TEST(AnswerWords, the_text_that_has_the_answers_word_is_quoted) {
  EXPECT_THAT(quoted(kQuestion, "A rabbit.", {"Otto keeps a hamster.", "Matteo keeps a RABBIT."}),
              ElementsAre(1));
}

TEST(AnswerWords, of_texts_with_the_same_word_the_one_about_the_question_is_quoted) {
  EXPECT_THAT(quoted(kQuestion, "A rabbit.",
                     {"Otto keeps a rabbit. Thorsen and Matteo have a bell.",
                      "Matteo Thorsen keeps a rabbit.", ""}),
              ElementsAre(1));
}

TEST(AnswerWords, texts_that_are_equal_in_it_are_all_quoted) {
  EXPECT_THAT(quoted(kQuestion, "A rabbit.", {"A rabbit.", "The bell.", "The rabbit."}),
              ElementsAre(0, 2));
}

TEST(AnswerWords, an_answer_put_together_quotes_each_text_that_gave_a_part) {
  EXPECT_THAT(quoted("What do they keep and play?", "A rabbit and a clarinet.",
                     {"Estelle plays the clarinet.", "The bell.", "Matteo keeps a rabbit."}),
              ElementsAre(0, 2));
}

TEST(AnswerWords, words_of_the_question_are_not_the_answers_own) {
  EXPECT_THAT(quoted(kQuestion, "Matteo Thorsen.", {"Matteo Thorsen keeps a rabbit."}), IsEmpty());
}

TEST(AnswerWords, an_answer_whose_words_stand_nowhere_quotes_nothing) {
  EXPECT_THAT(quoted(kQuestion, "A hamster.", {"Matteo Thorsen keeps a rabbit."}), IsEmpty());
  EXPECT_THAT(quoted(kQuestion, "A hamster.", {}), IsEmpty());
  EXPECT_THAT(
      quoted("Who is the captain?", "Captain Jameson of the Marauder, Tokyo 1890, a rabbit.",
             {"Matteo Thorsen keeps a rabbit."}),
      IsEmpty())
      << "of an answer that was made up a word is found anywhere";
}

}  // namespace
}  // namespace satchel::runtime
