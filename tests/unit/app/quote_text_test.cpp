// What the terminal says of passages that an answer repeats.
#include "app/cli/quote_text.h"

#include <gmock/gmock.h>

namespace satchel::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

runtime::AnswerQuote quote(std::string title, std::size_t page, std::string text) {
  return {.answer = {4},
          .said = {2, 9},
          .document = {1},
          .title = std::move(title),
          .passage = {30, 70},
          .page = page,
          .text = std::move(text)};
}

TEST(QuoteText, names_document_page_and_words) {
  EXPECT_THAT(describe({{4}, {quote("report.pdf", 12, "The ice")}}),
              ElementsAre("from report.pdf, page 12: \"The ice\""));
  EXPECT_THAT(describe({{4}, {quote("notes.txt", 0, "The ice")}}),
              ElementsAre("from notes.txt: \"The ice\""));
  EXPECT_THAT(describe(runtime::QuotesFound()), IsEmpty());
}

TEST(QuoteText, a_passage_of_lines_and_pages_is_one_line_that_is_cut) {
  const std::string text =
      "The harbour\n  was closed\n\n[Page 13]\nfor eleven days because of the drifting ice";
  EXPECT_THAT(describe({{4}, {quote("a", 12, text)}}),
              ElementsAre("from a, page 12: \"The harbour was closed for eleven days because of "
                          "the…\""));
}

TEST(QuoteText, of_more_than_three_the_others_are_counted_and_the_same_is_said_once) {
  std::vector<runtime::AnswerQuote> quotes;
  for (const char* text : {"one", "two", "one", "three", "four", "five"})
    quotes.push_back(quote("a", 1, text));
  EXPECT_THAT(describe({{4}, quotes}),
              ElementsAre("from a, page 1: \"one\"", "from a, page 1: \"two\"",
                          "from a, page 1: \"three\"", "and 2 more"));
}

TEST(QuoteText, json_has_all_of_them_with_their_places) {
  const Json json = to_json({{4}, {quote("report.pdf", 0, "The ice")}});
  EXPECT_EQ(json.dump(),
            R"([{"document_id":1,"document":"report.pdf","page":null,"begin":30,"end":70,)"
            R"("answer_begin":2,"answer_end":9,"text":"The ice"}])");
}

}  // namespace
}  // namespace satchel::app
