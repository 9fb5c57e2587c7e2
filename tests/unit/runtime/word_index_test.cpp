// The words of a text, and which episodes they lead to.
#include "runtime/episodes/word_index.h"

#include <gmock/gmock.h>

#include <cmath>

#include "runtime/episodes/word_frequency.h"
#include "runtime/tokenizer/words.h"
#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for_each_word(text, [&](std::string_view word) { found.emplace_back(word); });
  return found;
}

WordIndex index_of(const std::vector<std::string>& texts) {
  WordIndex index;
  for (const std::string& text : texts) index.add(text);
  return index;
}

std::vector<std::size_t> order(const WordIndex& index, std::string_view question) {
  std::vector<std::size_t> episodes;
  for (const Ranked& ranked : index.rank(question)) episodes.push_back(ranked.episode);
  return episodes;
}

TEST(Words, letters_and_digits_make_words_and_all_else_separates) {
  EXPECT_THAT(words("Mia's dog_house, A407: 3.5 km!"),
              ElementsAre("mia", "s", "dog", "house", "a407", "3", "5", "km"));
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" \t\r\n — … !?"), IsEmpty());
}

TEST(Words, ascii_text_has_the_words_that_it_has_beside_other_letters) {
  for (int c = 0; c < 0x80; ++c) {
    const std::string text = std::string("Ab") + static_cast<char>(c) + "Yz";
    std::vector<std::string> beside = words(text + " é");
    ASSERT_FALSE(beside.empty());
    beside.pop_back();
    EXPECT_EQ(words(text), beside) << c;
  }
}

TEST(Words, each_stands_at_its_place) {
  const std::string text = "\xff Mia's \xC4\xB0\xC3\x89t\xC3\xA9, 3.5 \xC3( 東京 end";
  std::vector<std::string> placed, found;
  for_each_placed_word(text, [&](std::string_view word, IndexRange place) {
    found.emplace_back(word);
    placed.push_back(text.substr(place.begin, place.size()));
    return true;
  });
  EXPECT_EQ(found, words(text));
  EXPECT_THAT(placed,
              ElementsAre("Mia", "s", "\xC4\xB0\xC3\x89t\xC3\xA9", "3", "5", "東", "京", "end"));
}

// Of a text that is looked at in several pieces.
TEST(Words, long_texts_have_the_words_that_their_parts_have_until_no_more_are_wanted) {
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string word = "w" + std::to_string(i) + (i % 3 == 0 ? "é" : "");
    text += word + (i % 7 == 0 ? "\n" : i % 11 == 0 ? "\xE2\x80\xA8" : " ");
    expected.push_back(word);
  }
  EXPECT_EQ(words(text), expected);
  std::size_t n = 0;
  for_each_placed_word(text, [&](std::string_view, IndexRange) { return ++n < 700; });
  EXPECT_EQ(n, 700);
}

TEST(Words, case_is_lowered_beyond_ascii) {
  EXPECT_THAT(words("ÄRGER ŁÓDŹ ΑΘΉΝΑ МОСКВА ԲԱՐԵՎ"),
              ElementsAre("ärger", "łódź", "αθήνα", "москва", "բարեվ"));
}

TEST(Words, scripts_without_spaces_give_a_word_per_letter) {
  EXPECT_THAT(words("東京タワーは高い。123円"),
              ElementsAre("東", "京", "タワー", "は", "高", "い", "123", "円"));
  EXPECT_THAT(words("วันดี"), ElementsAre("วั", "น", "ดี"));
  EXPECT_THAT(words("안녕하세요 हिन्दी"), ElementsAre("안녕하세요", "हिन्दी"));
}

TEST(Words, invalid_bytes_separate) {
  EXPECT_THAT(words("ab\xFF"
                    "cd\xC3"),
              ElementsAre("ab", "cd"));
  EXPECT_THAT(words(std::string_view("a\0b", 3)), ElementsAre("a", "b"));
  EXPECT_THAT(words("\x80\x80\xED\xA0\x80"), IsEmpty());
}

TEST(Words, letters_that_grow_in_lower_case_have_room) {
  std::string capital, small;
  for (int i = 0; i < 10'000; ++i) {
    capital += "Ⱥ ";  // two bytes, in lower case three
    small += "ⱥ ";
  }
  EXPECT_EQ(words(capital), words(small));
  EXPECT_EQ(words(capital).size(), 10'000u);
}

TEST(Words, one_huge_word_is_one_word) {
  const std::string text(3u << 20, 'X');
  EXPECT_THAT(words(text), ElementsAre(std::string(text.size(), 'x')));
}

TEST(WordIndex, scores_are_those_of_the_formula) {
  const WordIndex index = index_of({"red fox", "red red hen sat down there", "sky"});
  const auto ranked = index.rank("Red?");
  ASSERT_EQ(ranked.size(), 2u);
  // By hand: 2 of 3 texts have it; 2, 6 and 1 words with 1, 5 and no pairs: in the mean 5.
  const double idf = std::log(1 + 1.5 / 2.5);
  const auto bm25 = [&](double count, double length) {
    return idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 5));
  };
  EXPECT_EQ(ranked[0].episode, 0u);
  EXPECT_NEAR(ranked[0].score, bm25(1, 3), 1e-12);
  EXPECT_EQ(ranked[1].episode, 1u);
  EXPECT_NEAR(ranked[1].score, bm25(2, 11), 1e-12);
}

TEST(WordIndex, a_full_name_outweighs_its_halves_apart) {
  const WordIndex index = index_of({"Rita Palmer came. Otto Ashford sat down. Rita Palmer left.",
                                    "Rita Ashford keeps a tortoise.", "Otto Ashford came."});
  EXPECT_EQ(order(index, "What pet does Rita Ashford have?").front(), 1u);
}

TEST(WordIndex, a_rare_word_outweighs_many_common_ones) {
  const WordIndex index = index_of({"what is the name of the man who is at the door",
                                    "Mia lives in Bern", "the name of the door is the name"});
  EXPECT_EQ(order(index, "What is the name of the place Mia lives in?").front(), 1u);
}

TEST(WordIndex, names_match_through_apostrophes_and_case) {
  const WordIndex index = index_of({"Ole came.", "MIA came.", "Ben came."});
  EXPECT_THAT(order(index, "mia's"), ElementsAre(1));
  EXPECT_THAT(order(index_of({"Łódź", "Bern"}), "ŁÓDŹ"), ElementsAre(0));
}

TEST(WordIndex, numbers_are_words) {
  const WordIndex index = index_of({"Room 4071.", "Room 407.", "Room 40."});
  EXPECT_THAT(order(index, "407"), ElementsAre(1));
}

TEST(WordIndex, episodes_without_a_common_word_are_left_out) {
  const WordIndex index = index_of({"one", "two", ""});
  EXPECT_THAT(order(index, "three"), IsEmpty());
  EXPECT_THAT(order(index, ""), IsEmpty());
  EXPECT_THAT(order(index, "?!"), IsEmpty());
  EXPECT_THAT(order(index, "two three"), ElementsAre(1));
  EXPECT_THAT(order(WordIndex(), "two"), IsEmpty());
}

TEST(WordIndex, of_equal_episodes_the_later_comes_first) {
  const WordIndex index = index_of({"a cat", "a dog", "a cat", "a cat"});
  EXPECT_THAT(order(index, "cat"), ElementsAre(3, 2, 0));
}

TEST(WordIndex, a_word_that_stands_twice_in_the_question_counts_once) {
  const WordIndex index = index_of({"a cat", "a dog"});
  EXPECT_EQ(index.rank("cat cat CAT")[0].score, index.rank("cat")[0].score);
}

TEST(WordIndex, texts_of_invalid_bytes_are_counted_and_searched) {
  const WordIndex index = index_of({"\xFF\xFE", "caf\xC3\xA9 \xC3", "\x80"});
  EXPECT_EQ(index.size(), 3u);
  EXPECT_THAT(order(index, "CAF\xC3\x89\xFF"), ElementsAre(1));
}

TEST(WordIndex, a_truncated_index_ranks_as_if_the_rest_was_never_added) {
  const std::vector<std::string> texts = {"a red cat", "a dog", "a red red cow", "a hen and a cat"};
  WordIndex index = index_of(texts);
  index.truncate(9);
  EXPECT_EQ(index.size(), 4u);
  index.truncate(2);
  EXPECT_EQ(index.size(), 2u);
  EXPECT_THAT(order(index, "cow hen"), IsEmpty());
  const WordIndex fresh = index_of({texts[0], texts[1]});
  EXPECT_EQ(index.rank("red cat")[0].score, fresh.rank("red cat")[0].score);

  index.add(texts[2]);
  index.add(texts[3]);
  const auto again = index.rank("a red cat"), whole = index_of(texts).rank("a red cat");
  ASSERT_EQ(again.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(again[i].episode, whole[i].episode);
    EXPECT_EQ(again[i].score, whole[i].score);
  }
  index.truncate(0);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_THAT(order(index, "a"), IsEmpty());
}

TEST(WordIndex, the_one_of_a_thousand_is_found) {
  WordIndex index;
  for (int i = 0; i < 1000; ++i)
    index.add("The number of the shed is " + std::to_string(10'000 + i) + ".");
  const auto ranked = index.rank("Which shed has the number 10617?");
  ASSERT_EQ(ranked.size(), 1000u);
  EXPECT_EQ(ranked[0].episode, 617u);
  EXPECT_GT(confidence(ranked), 0.99);
}

// Words of the vocabulary in the order of their frequency; all others are of several pieces.
std::unique_ptr<Tokenizer> tokenizer_of(const std::vector<std::string>& by_frequency) {
  std::vector<std::string> pieces = {std::string(kSpaceMark)};
  for (const std::string& word : by_frequency)
    for (std::size_t size = 1; size <= word.size(); ++size) {
      // What it is merged from, unless it is there already.
      const std::string piece = std::string(kSpaceMark) + word.substr(0, size);
      for (const std::string& each : {word.substr(size - 1, 1), piece})
        if (std::ranges::find(pieces, each) == pieces.end()) pieces.push_back(each);
    }
  for (int i = 0; i < 20'000; ++i) pieces.push_back("<" + std::to_string(i) + ">");
  return tokenizer_tests::make_tokenizer(tokenizer_tests::sentencepiece_vocabulary(pieces));
}

TEST(WordFrequency, an_earlier_piece_is_a_more_frequent_word) {
  const auto tokenizer = tokenizer_of({"does", "keep"});
  ASSERT_TRUE(tokenizer);
  const double does = word_frequency("does", *tokenizer), keep = word_frequency("keep", *tokenizer),
               mia = word_frequency("mia", *tokenizer);
  EXPECT_GT(does, keep);
  EXPECT_GT(keep, mia);
  EXPECT_GT(mia, 0);
  EXPECT_EQ(mia, word_frequency("xyzzy", *tokenizer));
  EXPECT_EQ(mia, word_frequency("\xFF\xFF", *tokenizer));
}

TEST(WordIndex, texts_at_large_tell_a_name_from_a_word_that_happens_to_be_rare_here) {
  const auto tokenizer = tokenizer_of({"where", "does", "live"});
  ASSERT_TRUE(tokenizer);
  std::string story;
  for (int i = 0; i < 300; ++i) story += " and then they went";
  const WordIndex index =
      index_of({"Mia's room is blue." + story, "So where does he live?" + story});
  const std::string_view question = "Where does Mia live?";
  EXPECT_THAT(order(index, question), ElementsAre(1, 0));  // three words against one
  const auto ranked = index.rank(question, *tokenizer);
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_EQ(ranked[0].episode, 0u);
  EXPECT_GT(ranked[1].score, 0);
}

TEST(WordIndex, an_empty_index_can_be_asked_with_a_tokenizer) {
  const auto tokenizer = tokenizer_of({});
  ASSERT_TRUE(tokenizer);
  EXPECT_THAT(WordIndex().rank("Mia", *tokenizer), IsEmpty());
  EXPECT_THAT(index_of({"", "!"}).rank("Mia", *tokenizer), IsEmpty());
}

TEST(WordIndex, confidence_is_the_lead_over_the_second) {
  EXPECT_EQ(confidence({}), 0);
  EXPECT_EQ(confidence(std::vector<Ranked>{{4, 2.0}}), 1);
  EXPECT_EQ(confidence(std::vector<Ranked>{{4, 2.0}, {1, 0.5}, {2, 0.1}}), 0.75);
  EXPECT_EQ(confidence(std::vector<Ranked>{{4, 2.0}, {1, 2.0}}), 0);
}

}  // namespace
}  // namespace satchel::runtime
