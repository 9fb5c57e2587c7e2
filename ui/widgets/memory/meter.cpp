#include "ui/widgets/memory/meter.h"

#include <QPainter>
#include <algorithm>

#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr double kNearlyFull = 0.9;

}  // namespace

Meter::Meter(const QString& name, QWidget* parent) : QWidget(parent), m_name(name) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void Meter::setValue(double share, const QString& figure) {
  m_share = std::clamp(share, 0.0, 1.0);
  m_figure = figure;
  setAccessibleName(m_name + QStringLiteral(": ") + figure);
  update();
}

QSize Meter::sizeHint() const {
  return {180, fontMetrics().height() + 12};
}

void Meter::paintEvent(QPaintEvent*) {
  const Theme& theme = themeOf(palette());
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRect line(0, 0, width(), fontMetrics().height());
  painter.setPen(theme.text);
  painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, m_name);
  painter.setPen(theme.muted);
  painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, m_figure);
  const QRectF groove(0, line.bottom() + 6, width(), 5);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.raised);
  painter.drawRoundedRect(groove, 2.5, 2.5);
  if (m_share <= 0) return;
  QRectF bar = groove;
  bar.setWidth(std::max(5.0, groove.width() * m_share));
  painter.setBrush(m_share > kNearlyFull ? theme.danger : theme.accent);
  painter.drawRoundedRect(bar, 2.5, 2.5);
}

}  // namespace satchel::ui
