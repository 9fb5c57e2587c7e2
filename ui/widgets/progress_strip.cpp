#include "ui/widgets/progress_strip.h"

#include <QPainter>

#include "ui/widgets/theme.h"

namespace satchel::ui {

ProgressStrip::ProgressStrip(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ProgressStrip::setProgress(double share, const QString& text) {
  m_share = share;
  m_text = text;
  setAccessibleName(text);
  update();
}

QSize ProgressStrip::sizeHint() const {
  return {200, fontMetrics().height() + kGap + 4 + kGap};
}

void ProgressStrip::paintEvent(QPaintEvent*) {
  const Theme& theme = themeOf(palette());
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(scaledFont(font(), 0.92));
  painter.setPen(theme.muted);
  const int textHeight = fontMetrics().height();
  painter.drawText(QRect(2, 0, width() - 4, textHeight), Qt::AlignLeft | Qt::AlignVCenter, m_text);
  const QRectF groove(0, textHeight + kGap - 2, width(), 4);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.raised);
  painter.drawRoundedRect(groove, 2, 2);
  if (m_share < 0) return;
  QRectF bar = groove;
  bar.setWidth(std::max(4.0, groove.width() * m_share));
  painter.setBrush(theme.accent);
  painter.drawRoundedRect(bar, 2, 2);
}

}  // namespace satchel::ui
