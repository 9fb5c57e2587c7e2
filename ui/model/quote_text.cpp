#include "ui/model/quote_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/model/shown_words.h"

namespace satchel::ui {
namespace {

constexpr qsizetype kAroundMax = 3000;     // characters before a passage and behind it; chosen
constexpr qsizetype kLineAroundMax = 500;  // of them, to the nearest end of a line

int quoteAt(const QList<MessageQuote>& quotes, qsizetype character) {
  for (int i = 0; i < int(quotes.size()); ++i)
    if (quotes[i].begin <= character && character < quotes[i].end) return i;
  return -1;
}

}  // namespace

qsizetype CharacterWalk::to(std::size_t bytes) {
  for (; m_at < m_text.size() && m_bytes < bytes; ++m_at) {
    const char16_t unit = m_text[m_at].unicode();
    // A pair of surrogates is a character of four bytes.
    m_bytes += unit < 0x80 ? 1u : unit < 0x800 || m_text[m_at].isSurrogate() ? 2u : 3u;
  }
  return m_at;
}

qsizetype charactersOf(QStringView text, std::size_t bytes) {
  return CharacterWalk(text).to(bytes);
}

QList<ShownQuote> quotesShown(const QList<MessageQuote>& quotes, const MarkdownStretch& markdown,
                              const QString& shown) {
  QList<ShownQuote> found;
  for (const ShownWord& word : shownWords(markdown.text, shown)) {
    const int quote = quoteAt(quotes, markdown.begin + word.written);
    if (quote < 0) continue;
    if (found.isEmpty() || found.back().quote != quote) found.append({quote, word.begin, 0});
    found.back().end = word.end;
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
