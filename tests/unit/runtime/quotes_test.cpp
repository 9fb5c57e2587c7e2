// Where an answer repeats a document, and on which page.
#include "runtime/chat/quotes.h"

#include <gmock/gmock.h>

#include <random>
#include <stop_token>
#include <string>

#include "runtime/chat/page_marks.h"
#include "runtime/chat/suffix_automaton.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kSentence =
    "The harbour was closed for eleven days because of the drifting ice";

std::string cut(std::string_view text, IndexRange place) {
  return std::string(text.substr(place.begin, place.size()));
}

std::vector<Quote> quotes_in(std::string_view answer,
                             const std::vector<std::string_view>& documents) {
  const auto found = find_quotes(std::vector{answer}, documents);
  EXPECT_TRUE(found.ok());
  return found.ok() ? *found : std::vector<Quote>();
}

// What stands in the documents, with the page where there is one: "12: The harbour …".
std::vector<std::string> passages(std::string_view answer,
                                  const std::vector<std::string_view>& documents) {
  std::vector<std::string> found;
  for (const Quote& quote : quotes_in(answer, documents))
    found.push_back((quote.page > 0 ? std::to_string(quote.page) + ": " : "") +
                    cut(documents[quote.document], quote.passage));
  return found;
}

std::string numbers(std::size_t first, std::size_t last) {
  std::string text;
  for (std::size_t i = first; i <= last; ++i) text += " w" + std::to_string(i);
  return text.substr(1);
}

TEST(Quotes, a_sentence_said_again_is_a_quote_at_both_its_places) {
  const std::string document = "Winter came. " + std::string(kSentence) + ". Then it thawed.";
  const std::string answer = "As the report says, " + std::string(kSentence) + "!";
  const std::vector<Quote> found = quotes_in(answer, {document});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(cut(answer, found[0].said), kSentence);
  EXPECT_EQ(cut(document, found[0].passage), kSentence);
  EXPECT_EQ(found[0].page, 0);
}

TEST(Quotes, line_breaks_case_marks_and_markdown_do_not_matter) {
  const std::string document =
      "\xE2\x80\x9CThe harbour\nwas closed \xE2\x80\x94 for eleven\r\n\r\n  days because\tof ICE";
  EXPECT_THAT(
      passages("**the** harbour was _closed_ - for \"eleven\" days, because of ice", {document}),
      ElementsAre(document.substr(3)));
}

TEST(Quotes, text_that_no_document_has_is_none) {
  EXPECT_THAT(quotes_in("", {kSentence}), IsEmpty());
  EXPECT_THAT(quotes_in(kSentence, {}), IsEmpty());
  EXPECT_THAT(quotes_in(kSentence, {""}), IsEmpty());
  EXPECT_THAT(
      quotes_in("The harbour stayed open for all of the winter in spite of the ice", {kSentence}),
      IsEmpty());
}

TEST(Quotes, seven_words_are_too_few_and_eight_are_enough) {
  EXPECT_THAT(quotes_in("harbour was closed for eleven days because", {kSentence}), IsEmpty());
  EXPECT_THAT(quotes_in("harbour was closed for eleven days because of", {kSentence}),
              testing::SizeIs(1));
}

TEST(Quotes, five_words_in_quotation_marks_are_enough) {
  for (const auto& [before, behind] :
       std::vector<std::pair<std::string, std::string>>{{"\"", "\""},
                                                        {"\xE2\x80\x9C", "\xE2\x80\x9D"},
                                                        {"\xE2\x80\x9E", "\xE2\x80\x9C"},
                                                        {"\xC2\xAB", "\xC2\xBB"}}) {
    EXPECT_THAT(passages("It was " + before + "closed for eleven days because" + behind + " so",
                         {kSentence}),
                ElementsAre("was closed for eleven days because"));
    EXPECT_THAT(passages("It " + before + "closed for eleven days" + behind + " so", {kSentence}),
                IsEmpty());
    EXPECT_THAT(passages("It " + before + "closed for eleven days because so", {kSentence}),
                IsEmpty());
  }
}

TEST(Quotes, a_quotation_ends_with_its_paragraph) {
  EXPECT_THAT(
      passages("An inch is 1\".\n\nclosed for eleven days because\n\nA foot is 12\".", {kSentence}),
      IsEmpty());
}

TEST(Quotes, the_longest_is_first_and_one_beside_it_gives_up_what_both_have) {
  // The answer goes on from one passage into the other over words that both have.
  const std::string first = numbers(1, 12), second = numbers(11, 30);
  const std::string answer = numbers(1, 30);
  const std::vector<Quote> found = quotes_in(answer, {first, second});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(cut(first, found[0].passage), numbers(1, 10));
  EXPECT_EQ(cut(second, found[1].passage), numbers(11, 30));
  EXPECT_LE(found[0].said.end, found[1].said.begin);
}

TEST(Quotes, what_is_left_of_one_is_none_where_it_is_too_short) {
  EXPECT_THAT(passages(numbers(1, 30), {numbers(1, 12), numbers(6, 30)}),
              ElementsAre(numbers(6, 30)));
}

TEST(Quotes, what_an_answer_says_twice_is_found_twice) {
  const std::string answer = "a " + numbers(1, 10) + " b " + numbers(2, 10);
  const std::string document = "a " + numbers(1, 10);
  const std::vector<Quote> found = quotes_in(answer, {document});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(cut(document, found[0].passage), document);
  EXPECT_EQ(cut(document, found[1].passage), numbers(2, 10));
}

TEST(Quotes, of_two_documents_the_one_that_has_more_is_named_and_of_equals_the_first) {
  const std::string other = "Unrelated. " + std::string(kSentence);
  EXPECT_EQ(quotes_in(kSentence, {kSentence, other})[0].document, 0);
  EXPECT_EQ(quotes_in(kSentence, {kSentence.substr(0, 50), other})[0].document, 1);
}

TEST(Quotes, several_answers_keep_apart) {
  const std::string first(kSentence.substr(0, 30)), second(kSentence.substr(30));
  const std::vector<std::string_view> answers = {first, kSentence, second};
  const auto found = find_quotes(answers, std::vector{kSentence});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1);  // neither half is long enough, and they are not put together
  EXPECT_EQ((*found)[0].answer, 1);
}

TEST(Quotes, the_page_is_where_the_passage_begins_and_marks_do_not_break_it) {
  const std::string document =
      "[Page 7]\nfirst\n\n[Page 12]\n" + numbers(1, 10) + "\n\n[Page 13]\n" + numbers(11, 20);
  EXPECT_THAT(passages(numbers(1, 9), {document}), ElementsAre("12: w1 w2 w3 w4 w5 w6 w7 w8 w9"));
  EXPECT_THAT(passages(numbers(12, 20), {document}),
              ElementsAre("13: w12 w13 w14 w15 w16 w17 w18 w19 w20"));
  const std::vector<Quote> across = quotes_in(numbers(6, 15), {document});
  ASSERT_EQ(across.size(), 1);
  EXPECT_EQ(across[0].page, 12);
  EXPECT_TRUE(cut(document, across[0].passage).starts_with("w6 "));
  EXPECT_TRUE(cut(document, across[0].passage).ends_with(" w15"));
}

TEST(Quotes, what_is_left_of_a_passage_has_the_page_that_it_begins_on) {
  const std::string second = numbers(10, 15) + "\n[Page 2]\n" + numbers(16, 30);
  const auto found = passages(numbers(0, 30), {numbers(0, 20), second});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0], numbers(0, 20));
  EXPECT_EQ(found[1], "2: " + numbers(21, 30));
}

TEST(PageMarks, are_lines_of_their_own) {
  const std::string text = "see [Page 1]\n[Page 2] too\n[Page x]\n[Page 0]\n[Page 3]\nx\n[Page 4]";
  auto mark = next_page_mark(text, 0);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->page, 3);
  EXPECT_EQ(cut(text, mark->place), page_mark(3));
  mark = next_page_mark(text, mark->place.end);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->page, 4);
  EXPECT_FALSE(next_page_mark(text, mark->place.end));
  EXPECT_FALSE(next_page_mark("[Page 99999999999999999999999]\n[Page 5", 0));
}

TEST(Quotes, words_far_apart_are_no_passage) {
  const std::string gap(3000, '-');
  const std::string answer = numbers(1, 12);
  EXPECT_THAT(quotes_in(answer, {numbers(1, 6) + gap + numbers(7, 12)}), IsEmpty());
}

TEST(Quotes, bytes_that_are_no_utf8_separate_words_and_keep_places_right) {
  const std::string document = "\xff\xfe \xc3\xa4\xc3( " + std::string(kSentence) + "\xe2\x80";
  const std::string answer = "\x80\x80 \xc3\xa9 " + std::string(kSentence) + " \xf0\x9f";
  const std::vector<Quote> found = quotes_in(answer, {document});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(cut(answer, found[0].said), kSentence);
  EXPECT_EQ(cut(document, found[0].passage), kSentence);
}

// As slow and as plain as can be.
std::size_t longest_run(const std::vector<int>& answer, std::size_t end,
                        const std::vector<int>& document) {
  std::size_t longest = 0;
  for (std::size_t at = 1; at <= document.size(); ++at) {
    std::size_t n = 0;
    while (n < end && n < at && answer[end - 1 - n] == document[at - 1 - n]) ++n;
    longest = std::max(longest, n);
  }
  return longest;
}

TEST(SuffixAutomaton, knows_the_longest_stretch_that_ends_at_each_number) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto n_kinds = 1 + random() % 4;
    const auto drawn = [&](std::size_t n) {
      std::vector<int> all(n);
      for (int& one : all) one = int(random() % n_kinds);
      return all;
    };
    const std::vector<int> sequence = drawn(1 + random() % 40), led = drawn(1 + random() % 40);
    SuffixAutomaton automaton;
    for (const int one : sequence) automaton.add(std::uint32_t(one));
    EXPECT_LE(automaton.n_states(), 2 * sequence.size() + 1);
    SuffixAutomaton::Match match;
    for (std::size_t end = 1; end <= led.size(); ++end) {
      match = automaton.next(match, std::uint32_t(led[end - 1]));
      ASSERT_EQ(match.length, longest_run(led, end, sequence)) << round << ' ' << end;
      ASSERT_LE(match.length, automaton.length(match.state));
      ASSERT_TRUE(match.length == 0 ||
                  match.length > automaton.length(automaton.link(match.state)));
    }
  }
}

// Every word of a quote stands at its place in the passage, none stands in two quotes, and every
// run that is long enough has a word in one.
TEST(Quotes, few_words_in_any_order_give_what_a_plain_search_finds) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const auto n_kinds = 1 + random() % 3;
    const auto drawn = [&](std::size_t n) {
      std::vector<int> all(n);
      for (int& one : all) one = int(random() % n_kinds);
      return all;
    };
    const auto written = [](const std::vector<int>& all) {
      std::string text;
      for (const int one : all) text += {char('a' + one), ' '};
      return text;
    };
    const std::vector<int> said = drawn(60), text = drawn(60);
    const std::string answer = written(said), document = written(text);
    std::vector<bool> is_quoted(said.size());
    for (const Quote& quote : quotes_in(answer, {document})) {
      EXPECT_GE(quote.said.size(), 2 * kQuoteWords - 1);
      ASSERT_EQ(cut(answer, quote.said), cut(document, quote.passage));
      for (std::size_t at = quote.said.begin / 2; 2 * at < quote.said.end; ++at) {
        ASSERT_FALSE(is_quoted[at]);
        is_quoted[at] = true;
      }
    }
    for (std::size_t end = kQuoteWords; end <= said.size(); ++end) {
      const std::size_t n = longest_run(said, end, text);
      if (n < 2 * kQuoteWords) continue;  // between two quotes less than one may be left
      const auto last = is_quoted.begin() + std::ptrdiff_t(end);
      EXPECT_TRUE(std::find(last - std::ptrdiff_t(n), last, true) != last) << answer << document;
    }
  }
}

TEST(Quotes, documents_of_megabytes_and_one_word_over_and_over_end_soon) {
  std::string same, other;
  while (same.size() < (15u << 20)) same += "again ";
  for (std::size_t i = 0; other.size() < (15u << 20); ++i)
    other += "again and w" + std::to_string(i) + "\xC3\xA9\n";
  const std::string answer = same.substr(0, 60000);
  const std::vector<Quote> found = quotes_in(answer, {same, other});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].said.size(), answer.size() - 1);
}

TEST(Quotes, a_stop_ends_it) {
  std::string document;
  for (std::size_t i = 0; i < 100000; ++i) document += "word ";
  std::stop_source stop;
  stop.request_stop();
  const std::string_view text = document;
  const auto found = find_quotes(std::vector{kSentence}, std::vector{text}, stop.get_token());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, "STOPPED");
}

}  // namespace
}  // namespace satchel::runtime
