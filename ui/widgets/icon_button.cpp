#include "ui/widgets/icon_button.h"

#include <QPainter>
#include <QPainterPath>
#include <utility>

#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kSide = 34;

QPainterPath attachPath() {
  QPainterPath path(QPointF(14.8, 9.6));
  path.lineTo(9.4, 15.0);
  path.cubicTo(7.6, 16.8, 4.8, 16.6, 3.9, 14.9);
  path.cubicTo(3.1, 13.4, 3.4, 12.2, 4.6, 11.0);
  path.lineTo(10.8, 4.8);
  path.cubicTo(12.2, 3.4, 14.2, 3.5, 15.2, 4.7);
  path.cubicTo(16.2, 5.9, 15.9, 7.3, 14.9, 8.3);
  path.lineTo(9.3, 13.8);
  path.cubicTo(8.4, 14.6, 7.3, 14.3, 6.9, 13.6);
  path.cubicTo(6.5, 12.8, 6.8, 12.2, 7.4, 11.6);
  path.lineTo(11.9, 7.1);
  return path;
}

QPainterPath editPath() {
  QPainterPath path;
  path.moveTo(4.5, 15.5);
  path.lineTo(5.2, 12.2);
  path.lineTo(12.8, 4.6);
  path.quadTo(13.6, 3.8, 14.4, 4.6);
  path.lineTo(15.4, 5.6);
  path.quadTo(16.2, 6.4, 15.4, 7.2);
  path.lineTo(7.8, 14.8);
  path.closeSubpath();
  path.moveTo(11.4, 6);
  path.lineTo(14, 8.6);
  return path;
}

QPainterPath againPath() {
  QPainterPath path;
  path.arcMoveTo(QRectF(4, 4, 12, 12), 40);
  path.arcTo(QRectF(4, 4, 12, 12), 40, 290);
  path.moveTo(14.8, 3.6);
  path.lineTo(14.8, 6.6);
  path.moveTo(14.8, 6.6);
  path.lineTo(11.8, 6.6);
  return path;
}

// A wheel of eight teeth around a hole.
QPainterPath documentPath() {
  QPainterPath path;
  path.moveTo(11.5, 3);
  path.lineTo(6.5, 3);
  path.quadTo(5, 3, 5, 4.5);
  path.lineTo(5, 15.5);
  path.quadTo(5, 17, 6.5, 17);
  path.lineTo(13.5, 17);
  path.quadTo(15, 17, 15, 15.5);
  path.lineTo(15, 6.5);
  path.lineTo(11.5, 3);
  path.lineTo(11.5, 6.5);
  path.lineTo(15, 6.5);
  path.moveTo(7.8, 10.2);
  path.lineTo(12.2, 10.2);
  path.moveTo(7.8, 13.2);
  path.lineTo(12.2, 13.2);
  return path;
}

QPainterPath chevronPath(bool isUp) {
  const qreal tip = isUp ? 7.5 : 12.5, ends = 20 - tip;
  QPainterPath path(QPointF(5, ends));
  path.lineTo(10, tip);
  path.lineTo(15, ends);
  return path;
}

QPainterPath dotsPath() {
  QPainterPath path;
  for (const qreal x : {4.5, 10.0, 15.5}) path.addEllipse(QPointF(x, 10), 0.7, 0.7);
  return path;
}

QPainterPath copyPath() {
  QPainterPath path;
  path.addRoundedRect(QRectF(7, 7, 9, 9), 2, 2);
  path.moveTo(4.6, 12.6);
  path.cubicTo(4.2, 12.4, 4, 12, 4, 11.5);
  path.lineTo(4, 5.5);
  path.cubicTo(4, 4.6, 4.6, 4, 5.5, 4);
  path.lineTo(11.5, 4);
  path.cubicTo(12, 4, 12.4, 4.2, 12.6, 4.6);
  return path;
}

QPainterPath pathOf(Icon icon) {
  QPainterPath path;
  const auto line = [&path](qreal x1, qreal y1, qreal x2, qreal y2) {
    path.moveTo(x1, y1);
    path.lineTo(x2, y2);
  };
  switch (icon) {
    case Icon::Plus:
      line(10, 4, 10, 16);
      line(4, 10, 16, 10);
      break;
    case Icon::Sidebar:
      path.addRoundedRect(QRectF(3, 4, 14, 12), 2.5, 2.5);
      line(8, 4, 8, 16);
      break;
    case Icon::Panel:
      path.addRoundedRect(QRectF(3, 4, 14, 12), 2.5, 2.5);
      line(12, 4, 12, 16);
      break;
    case Icon::Attach:
      path = attachPath();
      break;
    case Icon::Send:
      line(10, 16, 10, 4.5);
      line(5, 9.5, 10, 4.5);
      line(15, 9.5, 10, 4.5);
      break;
    case Icon::Stop:
      path.addRoundedRect(QRectF(6, 6, 8, 8), 1.5, 1.5);
      break;
    case Icon::Close:
      line(5.5, 5.5, 14.5, 14.5);
      line(14.5, 5.5, 5.5, 14.5);
      break;
    case Icon::Copy:
      return copyPath();
    case Icon::Edit:
      path = editPath();
      break;
    case Icon::Again:
      path = againPath();
      break;
    case Icon::Held:  // lines of text, some of them gone
      line(4, 5.5, 16, 5.5);
      line(4, 10, 8, 10);
      line(13, 10, 16, 10);
      line(4, 14.5, 5.5, 14.5);
      line(10, 14.5, 16, 14.5);
      break;
    case Icon::Up:
    case Icon::Down:
      return chevronPath(icon == Icon::Up);
    case Icon::Top:  // up to a line
      line(4, 4, 16, 4);
      line(10, 16.5, 10, 8);
      line(5.5, 12, 10, 7.5);
      line(14.5, 12, 10, 7.5);
      break;
    case Icon::More:
      return dotsPath();
    case Icon::Document:
      path = documentPath();
      break;
  }
  return path;
}

}  // namespace

void drawIcon(QPainter& painter, Icon icon, const QRectF& rect, const QColor& color) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(rect.topLeft());
  painter.scale(rect.width() / 20, rect.height() / 20);
  painter.setPen(QPen(color, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.setBrush(icon == Icon::Stop ? QBrush(color) : QBrush(Qt::NoBrush));
  painter.drawPath(pathOf(icon));
  painter.restore();
}

IconButton::IconButton(Icon icon, const QString& name, QWidget* parent, Look look)
    : QToolButton(parent), m_icon(icon), m_look(look) {
  setIconKind(icon, name);
  setFixedSize(kSide, kSide);
  setCursor(Qt::PointingHandCursor);
}

void IconButton::setIconKind(Icon icon, const QString& name) {
  m_icon = icon;
  setToolTip(name);
  setAccessibleName(name);
  update();
}

QSize IconButton::sizeHint() const {
  return {kSide, kSide};
}

void IconButton::paintEvent(QPaintEvent*) {
  const Theme& theme = themeOf(palette());
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF all = QRectF(rect()).adjusted(1, 1, -1, -1);
  QColor color = theme.muted;
  painter.setPen(hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
  if (m_look == Filled) {
    painter.setBrush(isEnabled() ? theme.accent : theme.raised);
    painter.drawEllipse(all);
    color = isEnabled() ? theme.onAccent : theme.muted;
  } else {
    const bool lit = underMouse() && isEnabled();
    painter.setBrush(lit || isChecked() ? QBrush(theme.raised) : QBrush(Qt::NoBrush));
    painter.drawRoundedRect(all, 8, 8);
    if (lit) color = theme.text;
  }
  if (!isEnabled()) color.setAlphaF(0.5f);
  drawIcon(painter, m_icon,
           QRectF(QRect(QPoint(0, 0), QSize(20, 20)))
               .translated(width() / 2.0 - 10, height() / 2.0 - 10),
           color);
}

}  // namespace satchel::ui
