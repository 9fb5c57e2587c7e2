// What a window shows in words, and where: as its widgets draw it, so that painted text counts as
// the text of labels does.
#pragma once

#include <QRectF>
#include <QString>
#include <QStringList>

class QWidget;

namespace satchel::ui {

struct ShownText {
  QString text;  // a line or a part of one
  QRectF place;  // in the widget
};

// What this widget draws itself, without its children.
QList<ShownText> textsOf(QWidget* widget);

// Of all widgets that are seen, but for those that scroll (conversation, lists, input).
QStringList shownTexts(QWidget* window);

// Texts that leave their widget or meet another text in it, each with its widget's class. Empty:
// all can be read.
QStringList clippedTexts(QWidget* window);

}  // namespace satchel::ui
