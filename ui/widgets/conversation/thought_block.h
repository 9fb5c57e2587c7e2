// ThoughtBlock: what was thought before an answer: a line that opens, and the text under it.
//   needs    the thread of the window
#pragma once

#include <QFont>
#include <QRectF>
#include <QString>
#include <memory>

#include "ui/widgets/theme.h"

class QPainter;
class QTextDocument;

namespace satchel::ui {

class ThoughtBlock {
 public:
  explicit ThoughtBlock(const QFont& font);
  ~ThoughtBlock();

  // note: the line; empty: nothing was thought, and nothing is drawn
  void setContent(const QString& text, const QString& note, bool isOpen);
  bool isEmpty() const { return m_note.isEmpty(); }
  // Lays out at this place; where it ends. An empty one takes no room.
  double place(double left, double top, double width);
  void draw(QPainter& painter, const QRectF& visible, const Theme& theme) const;
  bool hits(const QPointF& point) const { return m_head.contains(point); }  // the line

 private:
  QFont m_font, m_small;
  QString m_text, m_note;
  bool m_isOpen = false;
  std::unique_ptr<QTextDocument> m_document;  // once it was open
  QRectF m_head, m_body;
};

}  // namespace satchel::ui
