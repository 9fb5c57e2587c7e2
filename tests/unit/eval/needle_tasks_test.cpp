// Needle tasks: how answers are judged, and what the texts that are made promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/eval/needle_tasks/family.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share

// Words stand for tokens.
Result<std::size_t> count_words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::size_t n = 0;
  for (std::string word; in >> word;) ++n;
  return n;
}

NeedleContext made(std::string_view family, std::size_t n_tokens = 900, std::uint64_t seed = 1) {
  const NeedleFamily* found = find_needle_family(family);
  SATCHEL_ASSERT(found != nullptr);
  return value_of(make_needle_context(*found, {.n_tokens = n_tokens, .seed = seed}, count_words));
}

std::string whole(const NeedleContext& context) {
  std::string text;
  for (const std::string& part : context.parts) text += part;
  return text;
}

std::size_t n_times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(NeedleJudge, an_answer_is_right_when_its_first_word_is_the_value) {
  EXPECT_TRUE(says_first(" Corwin.", "Corwin"));
  EXPECT_TRUE(says_first("Corwin", "Corwin"));
  EXPECT_TRUE(says_first("\n Corwin, and", "Corwin"));
  EXPECT_FALSE(says_first(" Corwinson", "Corwin"));
  EXPECT_FALSE(says_first(" 48211", "4821"));
  EXPECT_FALSE(says_first(" Corwin\xc3\xa9", "Corwin"));
  EXPECT_FALSE(says_first(" Cor", "Corwin"));
  EXPECT_FALSE(says_first(" Mr Corwin", "Corwin"));
  EXPECT_FALSE(says_first("", "Corwin"));
  const Needle needle{.ask = "?", .values = {"Corwin"}};
  EXPECT_EQ(needle_score(" Corwin.", needle), 1);
  EXPECT_EQ(needle_score(" Mr Corwin.", needle), 0);
}

TEST(NeedleJudge, of_several_values_the_share_that_is_said_counts) {
  const Needle needle{.ask = "?", .values = {"oak", "Elm", "ash", "fir"}};
  EXPECT_EQ(needle_score(" oak, elm and a fir", needle), 0.75);
  EXPECT_EQ(needle_score("OAK", needle), 0.25);
  EXPECT_EQ(needle_score(" oaks, washing, fire", needle), 0);
  EXPECT_EQ(needle_score("firs and fir", needle), 0.25);
  EXPECT_EQ(needle_score("", needle), 0);
  EXPECT_GT(needle_answer_tokens(needle), needle_answer_tokens({.ask = "?", .values = {"oak"}}));
}

TEST(NeedleJudge, an_answer_has_said_enough_when_nothing_more_can_change_its_score) {
  const Needle one{.ask = "?", .values = {"Corwin"}};
  EXPECT_TRUE(needle_said_enough(" Corwin.", one));
  EXPECT_TRUE(needle_said_enough(" Somebody else", one));
  EXPECT_FALSE(needle_said_enough(" Corwin", one));
  EXPECT_FALSE(needle_said_enough(" Corwins", one));
  const Needle two{.ask = "?", .values = {"oak", "elm"}};
  EXPECT_FALSE(needle_said_enough("\n\n oak and", two));
  EXPECT_FALSE(needle_said_enough(" oak, elm", two));
  EXPECT_TRUE(needle_said_enough(" oak, elm.", two));
  EXPECT_TRUE(needle_said_enough(" oak\n\nThe", two));
}

TEST(NeedleFamilies, fill_the_wished_length_and_are_the_same_for_the_same_seed) {
  for (const NeedleFamily& family : needle_families()) {
    SCOPED_TRACE(family.name);
    for (const std::size_t n_tokens : {std::size_t{700}, std::size_t{5000}}) {
      const NeedleContext context = made(family.name, n_tokens);
      const std::size_t n = value_of(n_tokens_of(context, count_words));
      EXPECT_LE(n, n_tokens);
      EXPECT_GT(n, n_tokens - 30);
      ASSERT_FALSE(context.needles.empty());
      std::set<std::string> asked;
      for (const Needle& needle : context.needles) {
        EXPECT_TRUE(asked.insert(needle.ask).second) << needle.ask;
        ASSERT_FALSE(needle.values.empty());
        for (const std::string& value : needle.values)
          EXPECT_NE(whole(context).find(value), std::string::npos) << value;
      }
    }
    EXPECT_EQ(made(family.name).parts, made(family.name).parts);
    EXPECT_NE(made(family.name).parts, made(family.name, 900, 2).parts);
    const Result<NeedleContext> none =
        make_needle_context(family, {.n_tokens = 20, .seed = 1}, count_words);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, "PARAM");
  }
  EXPECT_EQ(find_needle_family("riddles"), nullptr);
}

// What is asked of a single fact ends with its key, which is said once in the text, before the
// value.
TEST(NeedleFamilies, nothing_but_the_fact_answers_for_a_key) {
  for (const char* family : {"names", "places", "numbers", "multi-key", "several-turns"}) {
    SCOPED_TRACE(family);
    const NeedleContext context = made(family, 3000);
    const std::string text = whole(context);
    EXPECT_EQ(context.needles.size(), 8u);
    for (const Needle& needle : context.needles) {
      std::string key = needle.ask.substr(needle.ask.rfind('\n') + 1);
      if (std::string_view(family) != "places") key = key.substr(key.rfind(' ') + 1);
      ASSERT_EQ(needle.values.size(), 1u);
      EXPECT_EQ(n_times(text, key + " " + needle.values[0]), 1u) << key;
      EXPECT_EQ(n_times(text, key + " "), 1u) << key;
    }
  }
}

TEST(NeedleFamilies, what_most_people_do_is_said_most_often_and_by_no_single_sentence) {
  const NeedleContext context = made("majority", 600);
  const std::string text = whole(context);
  EXPECT_EQ(context.needles.size(), 5u);
  for (const Needle& needle : context.needles) {
    const std::string does = needle.ask.substr(needle.ask.rfind(' ') + 1);
    const std::size_t n_all = n_times(text, " " + does + " "),
                      n_most = n_times(text, " " + does + " " + needle.values[0] + ".");
    EXPECT_GT(n_most, 10u) << does;
    EXPECT_NEAR(double(n_most) / double(n_all), 0.8, 0.05) << does;
  }
}

TEST(NeedleFamilies, a_paraphrase_asks_in_words_that_the_text_does_not_have) {
  const NeedleContext context = made("paraphrased", 900);
  const std::string text = whole(context);
  for (const Needle& needle : context.needles) {
    EXPECT_EQ(text.find(needle.ask.substr(2)), text.npos) << needle.ask;
    EXPECT_EQ(n_times(text, " in the " + needle.values[0] + "."), 1u) << needle.values[0];
  }
}

TEST(NeedleFamilies, of_mixed_questions_each_three_in_turn_are_of_all_kinds) {
  const NeedleContext context = made("mixed", 900);
  ASSERT_EQ(context.needles.size(), 9u);
  for (std::size_t i = 0; i < 9; i += 3) {
    std::set<std::string> kinds;
    for (std::size_t k = i; k < i + 3; ++k) {
      const std::string& ask = context.needles[k].ask;
      kinds.insert(ask.find("full name") != ask.npos ? "name"
                   : ask.find("'s ") != ask.npos     ? "thing"
                                                     : "habit");
    }
    EXPECT_EQ(kinds.size(), 3u) << i;
  }
}

TEST(NeedleFamilies, the_values_of_a_variable_are_those_that_follow_from_the_statements) {
  const NeedleContext context = made("tracking", 2000);
  std::istringstream in(whole(context));
  std::map<std::string, std::string> held;  // variable to number
  for (std::string word, name, sign, from; in >> word;) {
    if (word != "VAR") continue;
    in >> name >> sign >> from;
    ASSERT_EQ(sign, "=");
    if (from == "VAR") {
      in >> from;
      from.pop_back();  // the full stop
      ASSERT_TRUE(held.contains(from)) << "used before it is set";
      held[name] = held[from];
    } else {
      from.pop_back();
      held[name] = from;
    }
  }
  EXPECT_EQ(held.size(), 12u);
  for (const Needle& needle : context.needles) {
    std::set<std::string> holding;
    for (const auto& [name, number] : held)
      if (needle.ask.find(" " + number + " ") != needle.ask.npos) holding.insert(name);
    EXPECT_EQ(holding, std::set<std::string>(needle.values.begin(), needle.values.end()));
  }
}

TEST(NeedleFamilies, the_common_words_are_the_most_frequent) {
  const NeedleContext context = made("common-words", 600);
  std::string text = whole(context);
  text.erase(0, text.find(':') + 1);
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '.'; }, ' ');
  std::istringstream in(text);
  std::map<std::string, int> n_of;
  for (std::string word; in >> word;) ++n_of[word];
  int least_common = 1000;
  for (const std::string& word : context.needles[0].values) {
    least_common = std::min(least_common, n_of[word]);
    n_of.erase(word);
  }
  for (const auto& [word, n] : n_of) EXPECT_LT(2 * n, least_common) << word;
}

TEST(NeedleFamilies, several_values_are_all_said_of_their_key) {
  const NeedleContext bought = made("multi-value");
  for (const Needle& needle : bought.needles) {
    EXPECT_EQ(needle.values.size(), 4u);
    const std::string person = needle.ask.substr(needle.ask.find("that ") + 5);
    for (const std::string& value : needle.values)
      EXPECT_EQ(
          n_times(whole(bought), person.substr(0, person.find(' ')) + " bought a " + value + "."),
          1u)
          << needle.ask << " " << value;
  }
  EXPECT_EQ(made("several-turns").parts.size(), 8u);
}

}  // namespace
}  // namespace satchel::eval
