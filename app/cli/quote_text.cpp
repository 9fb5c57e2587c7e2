#include "app/cli/quote_text.h"

#include <algorithm>

#include "kernels/base/size_text.h"
#include "runtime/chat/chat_title.h"
#include "runtime/chat/page_marks.h"

namespace satchel::app {
namespace {

// In one line, cut where it is long.
std::string beginning_of(std::string passage) {
  while (const auto mark = runtime::next_page_mark(passage, 0))
    passage.erase(mark->place.begin, mark->place.size());
  std::ranges::replace(passage, '\n', ' ');
  return runtime::title_from(passage);
}

std::string describe(const runtime::AnswerQuote& quote) {
  return "from " + quote.title + (quote.page > 0 ? ", page " + std::to_string(quote.page) : "") +
         ": \"" + beginning_of(quote.text) + "\"";
}

}  // namespace

std::vector<std::string> describe(const runtime::QuotesFound& found) {
  std::vector<std::string> lines;
  for (const runtime::AnswerQuote& quote : found.quotes)
    if (std::string line = describe(quote); std::ranges::count(lines, line) == 0)
      lines.push_back(std::move(line));
  if (lines.size() <= kQuotesShown) return lines;
  const std::size_t n_more = lines.size() - kQuotesShown;
  lines.resize(kQuotesShown);
  lines.push_back("and " + count_text(n_more) + " more");
  return lines;
}

Json to_json(const runtime::QuotesFound& found) {
  Json quotes = Json::array();
  for (const runtime::AnswerQuote& quote : found.quotes)
    quotes.push_back({{"document_id", quote.document.value},
                      {"document", quote.title},
                      {"page", quote.page > 0 ? Json(quote.page) : Json()},
                      {"begin", quote.passage.begin},
                      {"end", quote.passage.end},
                      {"answer_begin", quote.said.begin},
                      {"answer_end", quote.said.end},
                      {"text", quote.text}});
  return quotes;
}

}  // namespace satchel::app
