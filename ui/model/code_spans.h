// What words of code are, a line at a time: enough for colours, no more. A language that is not
// known has none.
#pragma once

#include <QList>
#include <QString>
#include <QStringView>

namespace satchel::ui {

enum class CodeKind { Keyword, String, Number, Comment };
struct CodeSpan {
  qsizetype begin = 0, length = 0;
  CodeKind kind = CodeKind::Keyword;
  friend bool operator==(const CodeSpan&, const CodeSpan&) = default;
};

struct CodeLanguage;
// As a fence names it: "py", "C++ title=x"; nullptr: not known.
const CodeLanguage* codeLanguage(const QString& name);

//   state  what the line before left open, 0: nothing; then what this line leaves open
QList<CodeSpan> codeSpans(const CodeLanguage& language, QStringView line, int& state);

}  // namespace satchel::ui
