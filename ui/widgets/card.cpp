#include "ui/widgets/card.h"

#include <QPainter>

namespace satchel::ui {

Card::Card(Tone tone, QWidget* parent) : QFrame(parent), m_tone(tone) {}

void Card::setTone(Tone tone) {
  m_tone = tone;
  update();
}

void Card::setLit(bool lit) {
  if (m_isLit == lit) return;
  m_isLit = lit;
  update();
}

void Card::paintEvent(QPaintEvent*) {
  const Theme& theme = themeOf(palette());
  QColor fill = theme.base, line = theme.border;
  switch (m_tone) {
    case Field:
      fill = theme.isDark ? theme.surface : theme.base;
      break;
    case Quiet:
      fill = theme.surface;
      line = theme.surface;
      break;
    case Good:
      fill = line = theme.goodSoft;
      break;
    case Danger:
      fill = line = theme.dangerSoft;
      break;
  }
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(m_isLit ? theme.accent : line, m_isLit ? 1.5 : 1));
  painter.setBrush(fill);
  const double radius = m_tone == Field ? 16 : kRadius;
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), radius, radius);
}

}  // namespace satchel::ui
