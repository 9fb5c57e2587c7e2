#include "ui/model/quote_text.h"

#include <QCoreApplication>
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/tokenizer/words.h"

namespace satchel::ui {
namespace {

constexpr std::size_t kAheadMax = 64;      // words of Markdown that are not shown; chosen
constexpr qsizetype kAroundMax = 3000;     // characters before a passage and behind it; chosen
constexpr qsizetype kLineAroundMax = 500;  // of them, to the nearest end of a line

struct Word {
  std::string word;
  qsizetype begin = 0, end = 0;
};

// In order, so that each byte is looked at once.
std::vector<Word> wordsOf(const QString& text) {
  const QByteArray bytes = text.toUtf8();
  std::vector<Word> words;
  std::size_t at = 0;
  qsizetype character = 0;
  const auto character_at = [&](std::size_t byte) {
    character += QString::fromUtf8(bytes.constData() + at, qsizetype(byte - at)).size();
    at = byte;
    return character;
  };
  runtime::for_each_placed_word(
      {bytes.constData(), std::size_t(bytes.size())}, [&](std::string_view word, IndexRange place) {
        const qsizetype begin = character_at(place.begin);
        words.push_back({std::string(word), begin, character_at(place.end)});
        return true;
      });
  return words;
}

int quoteAt(const QList<MessageQuote>& quotes, qsizetype character) {
  for (int i = 0; i < int(quotes.size()); ++i)
    if (quotes[i].begin <= character && character < quotes[i].end) return i;
  return -1;
}

}  // namespace

qsizetype charactersOf(QStringView text, std::size_t bytes) {
  std::size_t n_bytes = 0;
  qsizetype at = 0;
  for (; at < text.size() && n_bytes < bytes; ++at) {
    const char16_t unit = text[at].unicode();
    // A pair of surrogates is a character of four bytes.
    n_bytes += unit < 0x80 ? 1u : unit < 0x800 || text[at].isSurrogate() ? 2u : 3u;
  }
  return at;
}

QList<ShownQuote> quotesShown(const QList<MessageQuote>& quotes, const MarkdownStretch& markdown,
                              const QString& shown) {
  QList<ShownQuote> found;
  const std::vector<Word> written = wordsOf(markdown.text);
  auto next = written.begin();
  for (const Word& word : wordsOf(shown)) {
    const auto end =
        next + std::ptrdiff_t(std::min<std::size_t>(kAheadMax, std::size_t(written.end() - next)));
    const auto same =
        std::find_if(next, end, [&](const Word& one) { return one.word == word.word; });
    if (same == end) continue;
    next = same + 1;
    const int quote = quoteAt(quotes, markdown.begin + same->begin);
    if (quote < 0) continue;
    if (found.isEmpty() || found.back().quote != quote)
      found.append({quote, int(word.begin), int(word.end)});
    found.back().end = int(word.end);
  }
  return found;
}

QString sourceText(const MessageQuote& quote) {
  return quote.page == 0 ? quote.title
                         : QCoreApplication::translate("QuoteText", "%1, page %2")
                               .arg(quote.title)
                               .arg(quote.page);
}

// Whole lines, where they are not long.
ShownPassage passageOf(const MessageQuote& quote, const QString& document) {
  const qsizetype begin = charactersOf(document, quote.passageBegin);
  const qsizetype end = begin + charactersOf(QStringView(document).sliced(begin),
                                             quote.passageEnd - quote.passageBegin);
  qsizetype from = std::max<qsizetype>(0, begin - kAroundMax);
  qsizetype to = std::min(document.size(), end + kAroundMax);
  if (from > 0) {
    const qsizetype line = document.indexOf(u'\n', from) + 1;
    if (line > 0 && line <= begin && line - from < kLineAroundMax) from = line;
  }
  if (to < document.size()) {
    const qsizetype line = document.lastIndexOf(u'\n', to);
    if (line >= end && to - line < kLineAroundMax) to = line;
  }
  return {document.sliced(from, to - from), begin - from, end - from};
}

}  // namespace satchel::ui
