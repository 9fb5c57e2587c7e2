// Which words of a message's Markdown stand where in what is shown of it. Characters are those of
// QString.
#pragma once

#include <QList>
#include <QString>

namespace satchel::ui {

struct ShownWord {
  qsizetype written = 0;   // where it begins in the Markdown
  int begin = 0, end = 0;  // in the text shown
};

// `shown` has the words of the Markdown, in order, but for addresses and the like.
QList<ShownWord> shownWords(const QString& markdown, const QString& shown);

}  // namespace satchel::ui
