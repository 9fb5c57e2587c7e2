// MessageTools: what stands by a message: copy it, edit it or have it answered again, and the way
// through its versions. An answer has them in a line below; a user's message has them beside its
// bubble.
#pragma once

#include <QFont>
#include <QRectF>

#include "ui/model/engine_types.h"
#include "ui/widgets/theme.h"

class QPainter;

namespace satchel::ui {

class MessageTools {
 public:
  enum Hit { Nothing, Copy, Replace, Older, Newer };
  static constexpr double kHeight = 26;

  explicit MessageTools(const QFont& font);

  void setContent(const Message& message);
  bool isEmpty() const { return !m_canCopy && !m_canReplace && m_versions.isEmpty(); }
  bool hasVersions() const { return !m_versions.isEmpty(); }
  // From `left` on, below an answer.
  void placeBelow(double left, double top);
  // To the left of a bubble, at its lower end; the versions below it.
  void placeBeside(const QRectF& bubble);
  // isNear: the mouse is on the message, or it is one of the last: then all of it is drawn.
  void draw(QPainter& painter, const Theme& theme, bool isNear) const;
  Hit hit(const QPointF& point) const;

 private:
  void placeVersions(double left, double top);

  QFont m_small;
  QString m_versions;  // "2 of 3"; empty: one
  bool m_canCopy = false;
  bool m_canReplace = false, m_isUsers = false, m_hasOlder = false, m_hasNewer = false;
  QRectF m_copy, m_replace, m_older, m_label, m_newer;
};

}  // namespace satchel::ui
