// CodeHighlighter: the colours of a block of code, also while it streams.
#pragma once

#include <QSyntaxHighlighter>

#include "ui/widgets/theme.h"

namespace satchel::ui {

struct CodeLanguage;

class CodeHighlighter final : public QSyntaxHighlighter {
  Q_OBJECT

 public:
  // document: still empty, so that its text is coloured as it comes; owns this
  CodeHighlighter(const CodeLanguage& language, const Theme& theme, QTextDocument* document);

 protected:
  void highlightBlock(const QString& line) override;

 private:
  const CodeLanguage& m_language;
  const Theme& m_theme;
};

}  // namespace satchel::ui
