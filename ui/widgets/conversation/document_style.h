// How text becomes a QTextDocument: Markdown without HTML and without pictures, plain text, code.
#pragma once

#include <QFont>
#include <QTextDocument>
#include <QUrl>

#include "ui/model/quote_text.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {

// Loads nothing, from nowhere: what a model writes must not make this program fetch or open a file.
class ClosedDocument final : public QTextDocument {
  Q_OBJECT

 public:
  using QTextDocument::QTextDocument;

 protected:
  QVariant loadResource(int type, const QUrl& name) override;
};

void preparePlain(QTextDocument& document, const QFont& font);
void prepareCode(QTextDocument& document, const QFont& font);
// Sets the text as Markdown. Tags are shown as they were written, pictures as their description.
void setMarkdown(QTextDocument& document, const QString& markdown, const QFont& font,
                 const Theme& theme);

// Marks the quotes as links to their passages, without another colour: they are read as before.
void linkQuotes(QTextDocument& document, const QList<ShownQuote>& quotes, const Theme& theme);
// Which quote such a link leads to; -1: it is another link.
int quoteOfLink(const QString& address);

}  // namespace satchel::ui
