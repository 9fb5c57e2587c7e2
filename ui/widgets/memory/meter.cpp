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

void Meter::setWarns(bool warns) {
  m_warns = warns;
  update();
}

void Meter::setValue(double share, const QString& figure, double before) {
  m_share = std::clamp(share, 0.0, 1.0);
  m_before = std::clamp(before, 0.0, 1 - m_share);
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
  const double width = std::max(5.0, groove.width() * m_share);
  const double left = std::min(groove.width() * m_before, groove.width() - width);
  if (m_before > 0) {
    QColor lighter = theme.accent;
    lighter.setAlphaF(0.35f);
    painter.setBrush(lighter);
    painter.drawRoundedRect(QRectF(groove.topLeft(), QSizeF(left - 2, groove.height())), 2.5, 2.5);
  }
  painter.setBrush(m_warns && m_share > kNearlyFull ? theme.danger : theme.accent);
  painter.drawRoundedRect(QRectF(groove.left() + left, groove.top(), width, groove.height()), 2.5,
                          2.5);
}

}  // namespace satchel::ui
