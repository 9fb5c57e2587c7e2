#include "ui/widgets/conversation/code_highlighter.h"

#include <QTextDocument>
#include <algorithm>

#include "ui/model/code_spans.h"

namespace satchel::ui {
namespace {

QColor colorOf(CodeKind kind, const Theme& theme) {
  switch (kind) {
    case CodeKind::Keyword:
      return theme.codeKeyword;
    case CodeKind::String:
      return theme.codeString;
    case CodeKind::Number:
      return theme.codeNumber;
    case CodeKind::Comment:
      return theme.muted;
  }
  return theme.text;
}

}  // namespace

CodeHighlighter::CodeHighlighter(const CodeLanguage& language, const Theme& theme,
                                 QTextDocument* document)
    : QSyntaxHighlighter(document),
      m_language(language),
      m_theme(theme.isDark ? darkTheme() : lightTheme()) {
  document->documentLayout();  // without one a document does not tell that it changes
}

void CodeHighlighter::highlightBlock(const QString& line) {
  int state = std::max(0, previousBlockState());
  for (const CodeSpan& span : codeSpans(m_language, line, state))
    setFormat(int(span.begin), int(span.length), colorOf(span.kind, m_theme));
  setCurrentBlockState(state);
}

}  // namespace satchel::ui
