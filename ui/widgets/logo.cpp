#include "ui/widgets/logo.h"

#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

namespace satchel::ui {
namespace {

constexpr QColor kStrap(0x7c, 0x4a, 0x21), kBody(0xb9, 0x73, 0x3a), kFlap(0xd0, 0x8b, 0x4d),
    kLines(0xff, 0xf3, 0xe2), kClasp(0x1f, 0x6f, 0x68);

QPainterPath strapPath() {
  QPainterPath path(QPointF(22, 20));
  path.lineTo(22, 15);
  path.quadTo(22, 9, 28, 9);
  path.lineTo(36, 9);
  path.quadTo(42, 9, 42, 15);
  path.lineTo(42, 20);
  return path;
}

QPainterPath flapPath() {
  QPainterPath path(QPointF(7, 26));
  path.quadTo(7, 18, 15, 18);
  path.lineTo(49, 18);
  path.quadTo(57, 18, 57, 26);
  path.lineTo(57, 32);
  path.cubicTo(57, 36, 54, 39, 50, 40);
  path.lineTo(35, 43);
  path.lineTo(29, 43);
  path.lineTo(14, 40);
  path.cubicTo(10, 39, 7, 36, 7, 32);
  path.closeSubpath();
  return path;
}

}  // namespace

void drawLogo(QPainter& painter, const QRectF& rect) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(rect.topLeft());
  painter.scale(rect.width() / 64, rect.height() / 64);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(kStrap, 4, Qt::SolidLine, Qt::RoundCap));
  painter.drawPath(strapPath());
  painter.setPen(Qt::NoPen);
  painter.setBrush(kBody);
  painter.drawRoundedRect(QRectF(7, 18, 50, 37), 8, 8);
  painter.setBrush(kFlap);
  painter.drawPath(flapPath());
  painter.setPen(QPen(kLines, 3, Qt::SolidLine, Qt::RoundCap));
  painter.drawLine(QPointF(15, 26), QPointF(49, 26));
  painter.drawLine(QPointF(15, 32), QPointF(37, 32));
  painter.setPen(Qt::NoPen);
  painter.setBrush(kClasp);
  painter.drawRoundedRect(QRectF(27, 37, 10, 11), 3, 3);
  painter.setBrush(kLines);
  painter.drawRoundedRect(QRectF(30.5, 40, 3, 5), 1.5, 1.5);
  painter.restore();
}

QPixmap logoPixmap(int side, double pixelRatio) {
  const int pixels = int(side * pixelRatio);
  QPixmap pixmap(pixels, pixels);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  drawLogo(painter, QRectF(0, 0, pixels, pixels));
  painter.end();
  pixmap.setDevicePixelRatio(pixelRatio);
  return pixmap;
}

QIcon logoIcon() {
  QIcon icon;
  for (const int side : {16, 24, 32, 48, 64, 128, 256}) icon.addPixmap(logoPixmap(side, 1));
  return icon;
}

}  // namespace satchel::ui
