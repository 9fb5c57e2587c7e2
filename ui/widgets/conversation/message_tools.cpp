#include "ui/widgets/conversation/message_tools.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <utility>

#include "ui/model/engine_values.h"
#include "ui/widgets/icon_button.h"

namespace satchel::ui {
namespace {

constexpr double kIcon = 18, kStep = 22, kGapBeside = 8;

void drawStep(QPainter& painter, const QRectF& rect, int step, const QColor& color) {
  QPainterPath arrow;
  const QPointF middle = rect.center();
  arrow.moveTo(middle + QPointF(-2.0 * step, -4));
  arrow.lineTo(middle + QPointF(2.5 * step, 0));
  arrow.lineTo(middle + QPointF(-2.0 * step, 4));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPath(arrow);
}

}  // namespace

MessageTools::MessageTools(const QFont& font) : m_small(scaledFont(font, 0.86)) {}

void MessageTools::setContent(const Message& message) {
  m_isUsers = message.role == runtime::Role::user;
  m_canCopy = message.state != runtime::MessageState::streaming && !message.text.isEmpty() &&
              message.documentTitle.isEmpty();
  m_canReplace = message.canReplace && message.state != runtime::MessageState::streaming;
  const qsizetype at = message.versions.indexOf(message.id);
  m_versions = at < 0 ? QString() : versionText(message);
  m_hasOlder = at > 0;
  m_hasNewer = at >= 0 && at + 1 < message.versions.size();
}

void MessageTools::placeVersions(double left, double top) {
  const double width = QFontMetricsF(m_small).horizontalAdvance(m_versions) + 4;
  m_older = QRectF(left, top, kStep, kHeight);
  m_label = QRectF(m_older.right(), top, width, kHeight);
  m_newer = QRectF(m_label.right(), top, kStep, kHeight);
}

void MessageTools::placeBelow(double left, double top) {
  m_copy = m_replace = m_older = m_label = m_newer = QRectF();
  // The arrow's room begins before the arrow: the text stands under the answer's.
  if (hasVersions()) placeVersions(left - 7, top);
  double icon = hasVersions() ? m_newer.right() + kGapBeside : left - 4;
  for (auto [isThere, rect] : {std::pair(m_canCopy, &m_copy), std::pair(m_canReplace, &m_replace)})
    if (isThere) {
      *rect = QRectF(icon, top, kHeight, kHeight);
      icon += kHeight;
    }
}

void MessageTools::placeBeside(const QRectF& bubble) {
  m_copy = m_replace = m_older = m_label = m_newer = QRectF();
  double icon = bubble.left() - kGapBeside - kHeight;
  for (auto [isThere, rect] : {std::pair(m_canReplace, &m_replace), std::pair(m_canCopy, &m_copy)})
    if (isThere) {
      *rect = QRectF(icon, bubble.bottom() - kHeight - 6, kHeight, kHeight);
      icon -= kHeight;
    }
  if (!hasVersions()) return;
  placeVersions(0, bubble.bottom() + 2);
  const double shift = bubble.right() - m_newer.right();
  for (QRectF* rect : {&m_older, &m_label, &m_newer}) rect->translate(shift, 0);
}

void MessageTools::draw(QPainter& painter, const Theme& theme, bool isNear) const {
  painter.save();
  if (hasVersions()) {
    QColor faint = theme.muted;
    faint.setAlphaF(0.35F);
    drawStep(painter, m_older, -1, m_hasOlder ? theme.muted : faint);
    drawStep(painter, m_newer, 1, m_hasNewer ? theme.muted : faint);
    painter.setPen(theme.muted);
    painter.setFont(m_small);
    painter.drawText(m_label, Qt::AlignCenter, m_versions);
  }
  const auto draw = [&](const QRectF& place, Icon kind) {
    QRectF icon(0, 0, kIcon, kIcon);
    icon.moveCenter(place.center());
    drawIcon(painter, kind, icon, theme.muted);
  };
  if (m_canCopy && isNear) draw(m_copy, Icon::Copy);
  if (m_canReplace && isNear) draw(m_replace, m_isUsers ? Icon::Edit : Icon::Again);
  painter.restore();
}

MessageTools::Hit MessageTools::hit(const QPointF& point) const {
  if (m_canCopy && m_copy.contains(point)) return Copy;
  if (m_canReplace && m_replace.contains(point)) return Replace;
  if (m_hasOlder && m_older.contains(point)) return Older;
  if (m_hasNewer && m_newer.contains(point)) return Newer;
  return Nothing;
}

}  // namespace satchel::ui
