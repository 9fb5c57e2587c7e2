// Where the quotes of an answer stand in what is shown of it, and what is shown of their documents.
// Characters are those of QString.
#pragma once

#include <QList>
#include <QString>

#include "ui/model/engine_types.h"

namespace satchel::ui {

// Of a text, how many characters have so many bytes in UTF-8.
qsizetype charactersOf(QStringView text, std::size_t bytes);
// The same for one place after the other, none before the last.
class CharacterWalk {
 public:
  explicit CharacterWalk(QStringView text) : m_text(text) {}
  qsizetype to(std::size_t bytes);

 private:
  QStringView m_text;
  std::size_t m_bytes = 0;
  qsizetype m_at = 0;
};

// Of an answer's Markdown a stretch that is shown by itself, from `begin` on in the answer's text.
struct MarkdownStretch {
  QString text;
  qsizetype begin = 0;
};
// Characters of the text shown, from the first word of a quote to the last.
struct ShownQuote {
  int quote = 0;  // index
  int begin = 0, end = 0;
  friend bool operator==(const ShownQuote&, const ShownQuote&) = default;
};
// `shown` has the words of the Markdown, but for addresses and the like.
QList<ShownQuote> quotesShown(const QList<MessageQuote>& quotes, const MarkdownStretch& markdown,
                              const QString& shown);

QString sourceText(const MessageQuote& quote);  // "report.pdf, page 12"

// A passage with what stands around it in its document.
struct ShownPassage {
  QString text;
  qsizetype begin = 0, end = 0;  // of the passage
};
ShownPassage passageOf(const MessageQuote& quote, const QString& document);

}  // namespace satchel::ui
