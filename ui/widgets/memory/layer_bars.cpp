#include "ui/widgets/memory/layer_bars.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kBarsHeight = 56, kLegendGap = 6;

QColor mixed(const QColor& from, const QColor& to, double share) {
  const auto channel = [share](int a, int b) { return int(a + (b - a) * share); };
  return {channel(from.red(), to.red()), channel(from.green(), to.green()),
          channel(from.blue(), to.blue())};
}

// 16 bits: the accent itself; 2 bits: mostly the ground.
QColor colorOf(double bits, const Theme& theme) {
  const double strength = 0.35 + 0.65 * std::clamp((bits - 2) / 14, 0.0, 1.0);
  return mixed(theme.raised, theme.accent, strength);
}

}  // namespace

LayerBars::LayerBars(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void LayerBars::setBars(const QList<LayerBar>& bars) {
  m_bars = bars;
  QStringList texts;
  for (const LayerBar& bar : bars) texts.append(bar.text);
  setAccessibleName(tr("Memory of each layer"));
  setAccessibleDescription(texts.join(QStringLiteral(". ")));
  update();
}

QSize LayerBars::sizeHint() const {
  return {180, kBarsHeight + kLegendGap + fontMetrics().height()};
}

QRectF LayerBars::barRect(int layer) const {
  const double step = double(width()) / double(std::max<qsizetype>(m_bars.size(), 1));
  const double gap = std::clamp(step * 0.2, 1.0, 6.0);
  return QRectF(layer * step + gap / 2, 0, step - gap, kBarsHeight);
}

void LayerBars::paintEvent(QPaintEvent*) {
  const Theme& theme = themeOf(palette());
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  for (int layer = 0; layer < int(m_bars.size()); ++layer) {
    const LayerBar& bar = m_bars[layer];
    const QRectF all = barRect(layer);
    const double radius = std::min(3.0, all.width() / 3);
    painter.setBrush(theme.surface);
    painter.drawRoundedRect(all, radius, radius);
    QRectF kept = all;
    kept.setTop(all.bottom() - std::max(2.0, all.height() * bar.keptShare));
    painter.setBrush(colorOf(bar.bits, theme));
    painter.drawRoundedRect(kept, radius, radius);
  }
  painter.setFont(scaledFont(font(), 0.92));
  painter.setPen(theme.muted);
  const QRect legend(0, kBarsHeight + kLegendGap, width(), fontMetrics().height());
  painter.drawText(legend, Qt::AlignLeft | Qt::AlignVCenter, tr("height: tokens kept"));
  painter.drawText(legend, Qt::AlignRight | Qt::AlignVCenter, tr("darker: more bits"));
}

bool LayerBars::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  for (int layer = 0; layer < int(m_bars.size()); ++layer)
    if (barRect(layer).contains(help->pos())) {
      QToolTip::showText(help->globalPos(), m_bars[layer].text, this);
      return true;
    }
  QToolTip::hideText();
  return true;
}

}  // namespace satchel::ui
